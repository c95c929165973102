/**
 * The stream of a workflow: who has it open, and which revision is stored.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import type { Presence } from "@millrace/api/PresenceWire"
import type { AccountId } from "@millrace/core/domain/Id"
import { SessionId, WorkflowId } from "@millrace/core/domain/Id"
import { peopleListed } from "@millrace/core/domain/Limits"
import type { NewSession } from "@millrace/core/engine/Sessions"
import { Sessions } from "@millrace/core/engine/Sessions"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import type { Granted } from "@millrace/http/ConsoleSettings"
import { CurrentConsole } from "@millrace/http/ConsoleSettings"
import { Effect, Layer, Option } from "effect"
import { OpenWorkflow } from "../src/internal/OpenWorkflows.ts"
import { ours, over, root, tokenOf } from "./ConsoleScene.ts"
import { EventReader } from "./EventReader.ts"
import type { Tenant } from "./Harness.ts"
import { Harness, services } from "./Harness.ts"
import { chain, create } from "./Samples.ts"

const open = Effect.fnUntraced(function* (
  workflow: string,
  headers: Readonly<Record<string, string>>,
  base = root,
) {
  const { handler } = yield* Harness
  const request = new Request(`http://localhost${base}/workflows/${workflow}/live`, { headers })
  return new EventReader(yield* Effect.promise(() => handler(request)))
})

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** A session of the account, and what opens a workflow with it. */
const person = Effect.fnUntraced(function* (
  account: AccountId,
  role: NewSession["role"],
  workflows?: ReadonlyArray<WorkflowId>,
) {
  const { id, key } = yield* tokenOf(account, { role, ...(workflows && { workflows }) })
  return { id, key, open: (workflow: string) => open(workflow, bearer(key)) }
})

const next = (reader: EventReader) => reader.next(100, 50)

const shown = ({ more, people }: Presence): string =>
  people
    .map(({ isSelf, name, role, tabs }) => [isSelf ? "I" : (name ?? role), tabs].join(" "))
    .concat(more === 0 ? [] : [`and ${more}`])
    .join(", ")

/** The next presence, in short; `undefined` where none comes within five seconds. */
const presence = Effect.fnUntraced(function* (reader: EventReader) {
  const found = yield* next(reader)
  if (found === undefined) return undefined
  assert.strictEqual(found.event, "presence")
  return shown(found.data)
})

/** The next revision: the tag, and who has saved it. */
const revision = Effect.fnUntraced(function* (reader: EventReader, steps = 50) {
  const found = yield* reader.next(100, steps)
  if (found === undefined) return undefined
  const { etag, savedBy } = found.data
  return `${etag} ${savedBy === null ? "unknown" : savedBy.isSelf ? "I" : savedBy.role}`
})

const begin = Effect.gen(function* () {
  const { tenant } = yield* Harness
  const owner: Tenant = yield* tenant()
  return { owner, account: owner.accountId, workflow: yield* create(owner, chain) }
})

layer(over)("Who has a workflow open", (it) => {
  it.effect("is told to each of them as they come and go", () =>
    Effect.gen(function* () {
      const { account, workflow } = yield* begin
      const [ada, ben] = [yield* person(account, "owner"), yield* person(account, "viewer")]
      const first = yield* ada.open(workflow)
      assert.strictEqual(first.status, 200)
      assert.strictEqual(yield* presence(first), "I 1")
      assert.strictEqual(yield* revision(first), '"1" unknown')
      const second = yield* ben.open(workflow)
      assert.strictEqual(yield* presence(second), "I 1, owner 1")
      assert.strictEqual(yield* presence(first), "I 1, viewer 1")
      yield* second.close
      assert.strictEqual(yield* presence(first), "I 1")
      const other = yield* ada.open(workflow)
      assert.strictEqual(yield* presence(other), "I 2")
      assert.strictEqual(yield* presence(first), "I 2")
      yield* other.close
      yield* first.close
    }),
  )

  it.effect("is not told again when a stream begins anew", () =>
    Effect.gen(function* () {
      const { account, workflow } = yield* begin
      const [ada, ben] = [yield* person(account, "owner"), yield* person(account, "editor")]
      const first = yield* ada.open(workflow)
      yield* presence(first)
      yield* revision(first)
      const second = yield* ben.open(workflow)
      assert.strictEqual(yield* presence(first), "I 1, editor 1")
      yield* second.close
      assert.isUndefined(yield* first.next(100, 10))
      const again = yield* ben.open(workflow)
      assert.isUndefined(yield* next(first))
      yield* again.close
      yield* first.close
    }),
  )

  it.effect("is neither a key, nor somebody of another account or with another workflow", () =>
    Effect.gen(function* () {
      const { account, owner, workflow } = yield* begin
      const other = yield* create(owner, chain)
      const { accountId } = yield* (yield* Harness).tenant()
      const ada = yield* person(account, "owner")
      const reader = yield* ada.open(workflow)
      yield* presence(reader)
      yield* revision(reader)
      const foreign = yield* (yield* person(accountId, "owner")).open(workflow)
      const limited = yield* person(account, "viewer", [WorkflowId.make(other)])
      assert.deepStrictEqual([foreign.status, (yield* limited.open(workflow)).status], [404, 404])
      const elsewhere = yield* limited.open(other)
      assert.strictEqual(yield* presence(elsewhere), "I 1")
      const byKey = yield* open(workflow, bearer(owner.key), "/api/v1")
      assert.strictEqual(yield* presence(byKey), "owner 1")
      assert.isUndefined(yield* next(reader))
      for (const each of [elsewhere, byKey, reader]) yield* each.close
    }),
  )

  it.effect("is nobody whose session was ended while the stream went on", () =>
    Effect.gen(function* () {
      const { account, workflow } = yield* begin
      const [ada, ben] = [yield* person(account, "owner"), yield* person(account, "editor")]
      const first = yield* ada.open(workflow)
      yield* presence(first)
      yield* revision(first)
      const second = yield* ben.open(workflow)
      assert.strictEqual(yield* presence(first), "I 1, editor 1")
      yield* Effect.orDie(Sessions.use((sessions) => sessions.revoke(account, ben.id)))
      yield* second.rest()
      assert.isTrue(second.hasEnded)
      assert.strictEqual(yield* presence(first), "I 1")
      yield* first.close
    }),
  )
})

layer(over)("The revision of an open workflow", (it) => {
  it.effect("is told with who has saved it", () =>
    Effect.gen(function* () {
      const { send } = yield* Harness
      const { account, owner, workflow } = yield* begin
      const [ada, ben] = [yield* person(account, "owner"), yield* person(account, "editor")]
      const reader = yield* ada.open(workflow)
      yield* presence(reader)
      yield* revision(reader)
      const save = (key: string, base: string) =>
        send("PATCH", `${base}/workflows/${workflow}`, { key, json: { name: `by ${key}` } })
      yield* save(ada.key, root)
      assert.strictEqual(yield* revision(reader), '"2" I')
      const { headers } = yield* save(ben.key, root)
      assert.strictEqual(headers.get("etag"), '"3"')
      assert.strictEqual(yield* revision(reader), '"3" editor')
      yield* save(owner.key, "/api/v1")
      assert.strictEqual(yield* revision(reader), '"4" unknown')
      const node = { nodeType: "echo" }
      yield* send("POST", `${root}/workflows/${workflow}/nodes`, { key: ben.key, json: node })
      assert.strictEqual(yield* revision(reader), '"5" unknown')
      yield* send("DELETE", `${root}/workflows/${workflow}`, { key: ben.key })
      assert.isUndefined(yield* next(reader))
      assert.isTrue(reader.hasEnded)
    }),
  )

  it.effect("is told within ten seconds where another server has saved it", () =>
    Effect.gen(function* () {
      const { account, workflow } = yield* begin
      const reader = yield* (yield* person(account, "owner")).open(workflow)
      yield* presence(reader)
      yield* revision(reader)
      const store = yield* WorkflowStore
      const found = yield* Effect.orDie(store.find(account, WorkflowId.make(workflow)))
      const stored = Option.getOrThrow(found)
      yield* Effect.orDie(store.replace({ ...stored, revision: 2 }, 1))
      assert.isUndefined(yield* revision(reader, 50))
      assert.strictEqual(yield* revision(reader, 60), '"2" unknown')
      yield* reader.close
    }),
  )
})

const grants = new Map<string, Granted>()

const byCookie = Layer.succeed(CurrentConsole, {
  onLoopback: false,
  grant: ({ headers }) => Effect.sync(() => grants.get(headers.get("cookie") ?? "") ?? null),
})

layer(Harness.layerNoDeps.pipe(Layer.provideMerge(services), Layer.provide(byCookie)))(
  "Who has a workflow open, where an application signs people in",
  (it) => {
    it.effect("has the name that the application gives", () =>
      Effect.gen(function* () {
        const { account, workflow } = yield* begin
        const grant = { accountId: account, role: "editor", workflows: null } as const
        grants.set("ada", { ...grant, user: "u-1", name: "Ada" })
        grants.set("ben", { ...grant, user: "u-2" })
        const first = yield* open(workflow, { cookie: "ada", ...ours })
        assert.strictEqual(yield* presence(first), "I 1")
        const second = yield* open(workflow, { cookie: "ben", ...ours })
        assert.strictEqual(yield* presence(second), "I 1, Ada 1")
        yield* first.close
        yield* second.close
      }),
    )
  },
)

describe("OpenWorkflow.presence", () => {
  it("lists oneself first, then names in order, and counts who does not fit", () => {
    const opened = new OpenWorkflow(1)
    const enter = (id: string, name: string | null) =>
      opened.enter({ id: SessionId.make(id), name, role: "viewer" })
    enter("none", null)
    enter("self", null)
    for (let at = 0; at < peopleListed; at++) enter(`s${at}`, `N${99 - at}`)
    const { more, people } = opened.presence(SessionId.make("self"))
    assert.strictEqual(more, 2)
    assert.strictEqual(people.length, peopleListed)
    const names = people.map(({ isSelf, name }) => (isSelf ? "I" : name))
    assert.deepStrictEqual(names.slice(0, 3), ["I", "N80", "N81"])
  })
})

describe("OpenWorkflow.saved", () => {
  it("takes no older revision for news, and keeps who has saved the newest", () => {
    const opened = new OpenWorkflow(1)
    const by = { id: SessionId.make("self"), name: "Ada", role: "editor" } as const
    opened.saved(3, by)
    opened.saved(2, undefined)
    opened.saved(3, undefined)
    const savedBy = { name: "Ada", role: "editor", isSelf: true } as const
    assert.deepStrictEqual(opened.stored(by.id), { etag: '"3"', savedBy })
  })
})
