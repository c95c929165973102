/**
 * Secrets in runs: which texts name them, who is given their values, and that nothing that a run
 * records holds one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Json } from "@millrace/core/domain/Json"
import { handlerMessageLength } from "@millrace/core/domain/Limits"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import type { SecretSource } from "@millrace/core/engine/CurrentSecrets"
import { CurrentSecrets } from "@millrace/core/engine/CurrentSecrets"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { VaultClosed } from "@millrace/core/ports/Vault"
import { Effect, Redacted, Schema } from "effect"
import { RunSecrets } from "../../src/engine/internal/RunSecrets.ts"
import { account, boot, byNode, edge, node, nodeWith, shared, start, types } from "./TestEngine.ts"

const token = "sk_live_51HxYz"
const other = 'p4ss "word" & / ü'
const values: Readonly<Record<string, string>> = { token, other }

/** What handlers were given, and what was asked of the source. */
interface Seen {
  readonly inputs: Array<unknown>
  readonly used: Array<ReadonlyArray<string>>
  readonly accounts: Array<string>
}

const sourceOf = (seen: Seen, known = values): SecretSource => ({
  names: () => Effect.succeed(Object.keys(values)),
  open: (of, names, used) =>
    Effect.sync(() => {
      seen.accounts.push(of)
      if (used.length > 0) seen.used.push(used)
      return names.flatMap((name) =>
        known[name] === undefined
          ? []
          : [{ name, hosts: ["good.example"], value: Redacted.make(known[name]) }],
      )
    }),
})

const encodings = (text: string): Json => ({
  whole: text,
  inside: `Bearer ${text}.`,
  url: encodeURIComponent(text),
  basic: Buffer.from(`user:${text}`).toString("base64"),
  json: JSON.stringify({ text }),
  [text]: "as a name",
})

/** Node types that are given secrets, and tell them to everybody. */
const typesOf = (seen: Seen) => [
  ...types,
  define({
    key: "ask",
    inputs: {
      headers: Schema.optionalKey(Json),
      url: Schema.optionalKey(Json),
      input: Json.pipe(Schema.optionalKey),
    },
    secrets: ["headers"],
    outputs: { output: Json },
    run: Effect.fnUntraced(function* (inputs) {
      seen.inputs.push(inputs)
      const text = JSON.stringify(inputs)
      yield* Effect.log(`asked with ${text}`, { headers: inputs.headers ?? null })
      return { output: { text, all: Object.values(values).map(encodings) } }
    }),
  }),
  define({
    key: "blab",
    inputs: { headers: Schema.optionalKey(Json) },
    secrets: ["headers"],
    outputs: { output: Json },
    run: () => Effect.fail(new Error(`${"x".repeat(1_990)}${token}`)),
  }),
  define({
    key: "elsewhere",
    inputs: { input: Schema.optionalKey(Json) },
    outputs: { output: Json },
    run: () =>
      Effect.map(CurrentNode, ({ confined }) => ({
        output: [token, confined.map(({ name }) => name)],
      })),
  }),
]

const seenNothing = (): Seen => ({ inputs: [], used: [], accounts: [] })

/** Starts a graph and waits for its end. */
const run = Effect.fnUntraced(
  function* (seen: Seen, graph: Parameters<typeof start>, source = sourceOf(seen)) {
    const { context, stop } = yield* boot(typesOf(seen))
    const record = yield* Effect.gen(function* () {
      const { id } = yield* start(...graph)
      return yield* (yield* Runs).wait(account, id)
    }).pipe(Effect.provideContext(context))
    yield* stop
    return { record, source }
  },
  (effect, seen, _graph, source = sourceOf(seen)) =>
    Effect.provideService(effect, CurrentSecrets, source),
)

const refusal = Effect.fnUntraced(
  function* (...graph: Parameters<typeof start>) {
    const { context, stop } = yield* boot(typesOf(seenNothing()))
    const refused = yield* Effect.flip(start(...graph)).pipe(Effect.provideContext(context))
    yield* stop
    return (refused as Error).message
  },
  Effect.provideService(CurrentSecrets, sourceOf(seenNothing())),
)

const headers = {
  authorization: "Bearer {{ secrets.token }}",
  whole: "{{secrets.other}}",
  plain: "none",
}

const leaks = (value: unknown): ReadonlyArray<string> => {
  const text = JSON.stringify(value)
  const forms = [token, other].flatMap((secret) => [
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(`user:${secret}`).toString("base64").slice(8, -3),
  ])
  return forms.filter((form) => text.includes(form))
}

describe("an input that takes secrets", () => {
  it.effect("gives the handler the values, and the record the expressions", () =>
    Effect.gen(function* () {
      const seen = seenNothing()
      const { record } = yield* run(seen, [[node("a", "ask", { headers })]])
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.deepStrictEqual(seen.inputs, [
        { headers: { authorization: `Bearer ${token}`, whole: other, plain: "none" } },
      ])
      assert.deepStrictEqual(seen.used, [["token", "other"]])
      assert.deepStrictEqual(seen.accounts, [account])
      assert.deepStrictEqual(byNode(record)["a"]?.input, {
        headers: { ...headers, whole: "{{ secrets.other }}" },
      })
    }).pipe(Effect.provide(shared())),
  )

  it.effect("leaves no value in outputs, names, logs, errors and the run's own output", () =>
    Effect.gen(function* () {
      const nodes = [
        node("a", "ask", { headers }),
        node("b", "blab", { headers: "{{ secrets.token }}" }),
        nodeWith("c", "blab", { headers: "{{ secrets.token }}" }, { onError: "route" }),
        node("d", "pass"),
      ]
      const edges = [edge("c.error", "d"), edge("a", "e")]
      const graph = [...nodes, node("e", "response")]
      const { record } = yield* run(seenNothing(), [graph, edges])
      assert.deepStrictEqual(leaks(record), [])
      const { a, b } = byNode(record)
      const { all } = a!.output!["output"] as { all: ReadonlyArray<Record<string, Json>> }
      assert.deepStrictEqual(all[0], {
        whole: "•••",
        inside: "Bearer •••.",
        url: "•••",
        basic: "•••",
        json: '{"text":"•••"}',
        "•••": "as a name",
      })
      assert.include(a!.logs![0]!.message, "Bearer •••")
      assert.strictEqual(b!.error, `${"x".repeat(1_990)}•••`)
      assert.include(JSON.stringify(byNode(record)["d"]!.input), "•••")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("hides the value from what other nodes of the run read elsewhere", () =>
    Effect.gen(function* () {
      const graph = [node("a", "elsewhere"), node("z", "ask", { headers: "{{ secrets.token }}" })]
      const { record } = yield* run(seenNothing(), [graph, [edge("a", "z")]])
      assert.deepStrictEqual(byNode(record)["a"]!.output, { output: ["•••", ["token"]] })
    }).pipe(Effect.provide(shared())),
  )
})

describe("data that looks like the name of a secret", () => {
  it.effect("is data, whether an edge, an override or a value brings it", () =>
    Effect.gen(function* () {
      const seen = seenNothing()
      const text = "{{ secrets.token }}"
      const graph = [
        node("a", "pass"),
        node("b", "ask"),
        node("c", "ask", { headers: "{{ values.text }} {{ secrets.other }}" }),
        node("d", "ask", { headers: "replaced" }),
      ]
      yield* run(seen, [
        graph,
        [edge("a", "b.headers")],
        {
          values: { text },
          graphInputOverrides: { a: { input: text }, d: { headers: text } },
        },
      ] as Parameters<typeof start>)
      assert.deepStrictEqual(
        seen.inputs.map((inputs) => (inputs as { headers: string }).headers).toSorted(),
        [text, text, `${text} ${other}`].toSorted(),
      )
      assert.deepStrictEqual(seen.used, [["other"]])
    }).pipe(Effect.provide(shared())),
  )
})

describe("a start", () => {
  const at = (port: string) => `Node "a": input "${port}", column`

  it.effect("refuses secrets where no input takes them, and anywhere in JavaScript", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Record<string, Json>, string]> = [
        [
          { url: "https://x.example/{{ secrets.token }}" },
          `${at("url")} 22: secrets cannot be used here; this node takes them in headers`,
        ],
        [{ headers: "{{ secrets.token + 1 }}" }, `${at("headers")} 4: a secret stands alone`],
        [{ headers: "{{ secrets }}" }, "a secret stands alone: write {{ secrets.name }}"],
        [{ headers: "{{ secrets.token.length }}" }, "a secret stands alone"],
        [{ headers: '{{ secrets["token"] }}' }, "a secret stands alone"],
        [{ headers: "{{ [secrets.token][0] }}" }, "a secret stands alone"],
      ]
      for (const [literals, sentence] of cases) {
        assert.include(yield* refusal([node("a", "ask", literals)]), sentence)
      }
      const text = "{{ secrets.token }}"
      const elsewhere = yield* refusal([node("a", "pass", { input: text })])
      assert.include(elsewhere, "secrets cannot be used here; this node takes none")
      const fallback = { onError: "default", default: { output: text } }
      const output = yield* refusal([nodeWith("a", "ask", {}, fallback)])
      assert.include(output, "secrets cannot be used here")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("refuses a name that the account does not have, with the nearest one", () =>
    Effect.gen(function* () {
      const graph = [node("a", "ask", { headers: { x: ["no {{ secrets.tokn }}"] } })]
      assert.strictEqual(
        yield* refusal(graph),
        'Node "a": input "headers"[x][0], column 7: the account has no secret "tokn"; ' +
          'did you mean "token"?',
      )
    }).pipe(Effect.provide(shared())),
  )

  it.effect("refuses a node override that names a secret which the stored node does not", () =>
    Effect.gen(function* () {
      const stored = [node("a", "ask", { headers: "{{ secrets.token }}" }), node("b", "ask")]
      const overridden = (...nodeOverrides: ReadonlyArray<ReturnType<typeof node>>) =>
        refusal(stored, [], { nodeOverrides })
      const why = "the override names the secret"
      const both = "{{ secrets.token }} {{ secrets.other }}"
      assert.strictEqual(
        yield* overridden(node("a", "ask", { headers: both })),
        `Node "a": ${why} "other", and the stored node does not`,
      )
      assert.include(yield* overridden(node("b", "ask", { headers: "{{ secrets.token }}" })), why)
    }).pipe(Effect.provide(shared())),
  )
})

describe("an attempt", () => {
  const graph = [node("a", "ask", { headers: "{{ secrets.token }}" })]

  it.effect("fails where the secret is gone by then", () =>
    Effect.gen(function* () {
      const seen = seenNothing()
      const { record } = yield* run(seen, [graph], sourceOf(seen, { other }))
      assert.strictEqual(byNode(record)["a"]!.error, 'the account has no secret "token"')
      assert.deepStrictEqual(seen.inputs, [])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("fails where the secrets cannot be opened, and may be made again", () =>
    Effect.gen(function* () {
      const seen = seenNothing()
      let count = 0
      const source: SecretSource = {
        ...sourceOf(seen),
        open: (...asked) =>
          Effect.suspend(() => {
            count += 1
            if (count > 1) return sourceOf(seen).open(...asked)
            return Effect.fail(new VaultClosed({ message: "No master key" }))
          }),
      }
      const retried = { retry: { attempts: 2, initial: 0 } }
      const nodes = [nodeWith("a", "ask", { headers: "{{ secrets.token }}" }, retried)]
      const { record } = yield* run(seen, [nodes], source)
      assert.strictEqual(byNode(record)["a"]!.attempt, 2)
      assert.strictEqual(record.run.status, "COMPLETED")
    }).pipe(Effect.provide(shared())),
  )
})

describe("two secrets with the same value", () => {
  it.effect("may both go to the hosts of either, and nowhere else", () =>
    Effect.gen(function* () {
      const value = Redacted.make(token)
      const open = () =>
        Effect.succeed([
          { name: "old", hosts: ["old.example"], value },
          { name: "new", hosts: ["new.example"], value },
        ])
      const store = { names: () => Effect.succeed([]), open }
      const secrets = new RunSecrets(store, account, ["old", "new"])
      yield* secrets.open(["old"])
      const allowed = (host: string) =>
        secrets.confined.map(({ mayGoTo }) => mayGoTo(new URL(`https://${host}/`)))
      assert.deepStrictEqual(["old.example", "new.example", "evil.example"].map(allowed), [
        [true, true],
        [true, true],
        [false, false],
      ])
    }),
  )
})

/** The secrets of a run whose source knows these values at each opening. */
const opening = (...each: ReadonlyArray<Readonly<Record<string, string>>>) => {
  let count = 0
  const open: SecretSource["open"] = () =>
    Effect.sync(() =>
      Object.entries(each[count++]!).map(([name, value]) => ({
        name,
        hosts: [`${name}.example`],
        value: Redacted.make(value),
      })),
    )
  return new RunSecrets({ names: () => Effect.succeed([]), open }, account, ["token", "other"])
}

describe("the secrets of a run", () => {
  it.effect("are known here once they were opened, and change no text before", () =>
    Effect.gen(function* () {
      const secrets = opening({ token })
      const value = { text: token }
      assert.isFalse(secrets.isOpen)
      assert.deepStrictEqual(secrets.confined, [])
      assert.strictEqual(secrets.text(token), token)
      assert.strictEqual(secrets.sentence(token), token)
      assert.strictEqual(secrets.json(value), value)
      assert.deepStrictEqual([...(yield* secrets.open(["token"]))], [["token", token]])
      assert.isTrue(secrets.isOpen)
      assert.strictEqual(secrets.text(token), "•••")
      assert.strictEqual(secrets.sentence(token), "•••")
      assert.deepStrictEqual(secrets.json(value), { text: "•••" })
    }),
  )

  it.effect("are known here where the account has none of them, too", () =>
    Effect.gen(function* () {
      const secrets = opening({})
      yield* secrets.open([])
      assert.isTrue(secrets.isOpen)
      assert.strictEqual(secrets.text(token), token)
    }),
  )

  it.effect("stay hidden when they have got another value meanwhile, as that one does", () =>
    Effect.gen(function* () {
      const next = "sk_live_the_next_1"
      const secrets = opening({ token }, { token: next })
      yield* secrets.open(["token"])
      assert.strictEqual(secrets.text(`${token} ${next}`), `••• ${next}`)
      yield* secrets.open(["token"])
      assert.strictEqual(secrets.text(`${token} ${next}`), "••• •••")
    }),
  )

  it.effect("may go to their own hosts only, and are found in what a node sends", () =>
    Effect.gen(function* () {
      const secrets = opening({ token, other })
      yield* secrets.open(["token"])
      const sent = (text: string) =>
        secrets.confined.filter(({ occursIn }) => occursIn(text)).map(({ name }) => name)
      assert.deepStrictEqual(sent("nothing"), [])
      assert.deepStrictEqual(sent(`x=${encodeURIComponent(other)}`), ["other"])
      assert.deepStrictEqual(sent(`${token} ${other}`), ["token", "other"])
      assert.deepStrictEqual(sent(Buffer.from(`user:${token}`).toString("base64")), ["token"])
      const allowed = (name: string) =>
        secrets.confined
          .filter(({ mayGoTo }) => mayGoTo(new URL(`https://${name}.example/`)))
          .map((each) => each.name)
      assert.deepStrictEqual(["token", "other"].map(allowed), [["token"], ["other"]])
    }),
  )

  it.effect("lose their beginning at the end of a message that was cut, and of no other one", () =>
    Effect.gen(function* () {
      const secrets = opening({ token })
      yield* secrets.open(["token"])
      const cut = "x".repeat(handlerMessageLength - 4) + token.slice(0, 4)
      assert.strictEqual(secrets.sentence(cut), cut.replace(/sk_l$/, "•••"))
      assert.strictEqual(secrets.sentence(cut.slice(1)), cut.slice(1))
    }),
  )

  it.effect("cannot be opened for a reason that is told, or because one is not there", () =>
    Effect.gen(function* () {
      const open = () => Effect.fail(new VaultClosed({ message: "No master key" }))
      const store = { names: () => Effect.succeed([]), open }
      const shut = yield* Effect.flip(new RunSecrets(store, account, ["token"]).open(["token"]))
      assert.strictEqual(shut.message, "the secrets cannot be opened: No master key")
      assert.notStrictEqual(shut.retryable, false)
      const gone = yield* Effect.flip(opening({ other }).open(["other", "token"]))
      assert.strictEqual(gone.message, 'the account has no secret "token"')
      assert.isFalse(gone.retryable)
    }),
  )
})
