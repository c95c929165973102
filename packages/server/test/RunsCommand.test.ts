/**
 * `millrace runs` and `workflows` as somebody with a key of an account meets them: against a server
 * that runs.
 */
import { it } from "@effect/vitest"
import { createClient } from "@millrace/api/PromiseClient"
import { Effect } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "vitest"
import { edge, node } from "../src/internal/demo/Drawing.ts"
import { outcomeOf } from "./LocalCommand.ts"
import * as LocalServer from "./LocalServer.ts"

/** A server with an account, a client of it, and commands with its key. */
const place = Effect.gen(function* () {
  const { origin, tenant } = yield* LocalServer.start()
  const { key } = yield* tenant
  const env = { MILLRACE_URL: origin, MILLRACE_API_KEY: key }
  const command = (
    args: ReadonlyArray<string>,
    over: Readonly<Record<string, string>> = {},
    group = "runs",
  ) => Effect.promise(() => outcomeOf([group, ...args], { ...env, ...over }))
  return { client: createClient({ url: origin, apiKey: key }), command }
})

/** A run that waits for `paid`. */
const waiting = (client: ReturnType<typeof createClient>) =>
  Effect.promise(async () => {
    const { id: workflowId } = await client.workflows.create({
      name: "Order",
      nodes: [
        node("pay", "wait_signal", [0, 0], { name: "paid" }),
        node("out", "response", [1, 0]),
      ],
      edges: [edge("pay.payload", "out.input")],
    })
    return client.runs.start({ workflowId })
  })

const file = Effect.acquireRelease(
  Effect.sync(() => join(mkdtempSync(join(tmpdir(), "millrace-runs-")), "payment.json")),
  (path) => Effect.sync(() => rmSync(join(path, ".."), { recursive: true })),
)

describe("millrace runs signal", () => {
  it.live("sends a run what a file holds, once under its key", () =>
    Effect.gen(function* () {
      const { client, command } = yield* place
      const [run, path] = [yield* waiting(client), yield* file]
      writeFileSync(path, `{ "amount": 7 }\n`)
      const args = ["signal", run.id, "paid", "--idempotency-key", "payment 17"]
      const sent = yield* command([...args, "--data", `@${path}`])
      assert.deepStrictEqual(sent, {
        code: 0,
        out: run.id,
        err: `Run ${run.id} has the signal "paid"`,
      })
      const { output } = yield* Effect.promise(() => run.wait())
      assert.deepStrictEqual(output, { amount: 7 })
      const late = yield* command(["signal", run.id, "paid"])
      assert.strictEqual(late.code, 1)
      assert.match(late.err, /^Run run_\S+ has already ended: COMPLETED$/)
    }).pipe(Effect.scoped),
  )

  it.live("prints the answer as JSON where it is asked to", () =>
    Effect.gen(function* () {
      const { client, command } = yield* place
      const run = yield* waiting(client)
      const { out } = yield* command(["signal", run.id, "paid", "--json"])
      assert.deepStrictEqual(JSON.parse(out), { runId: run.id, number: 1 })
    }).pipe(Effect.scoped),
  )

  it.live("says in one line what is wrong with what was typed, or with the place", () =>
    Effect.gen(function* () {
      const { command } = yield* place
      const said = (args: ReadonlyArray<string>, over?: Readonly<Record<string, string>>) =>
        Effect.map(command(args, over), ({ code, err }) => `${code} ${err}`)
      const one = ["signal", "run_1", "paid"]
      assert.match(yield* said(one), /^1 The run does not exist$/)
      assert.match(
        yield* said([...one, "--data", "yes"]),
        /^2 --data: the text is not JSON; a text needs its quotes: '"yes"'$/,
      )
      assert.match(
        yield* said([...one, "--data", "@nowhere.json"]),
        /^2 --data: the file nowhere\.json cannot be read$/,
      )
      assert.match(
        yield* said(one, { MILLRACE_URL: "http://127.0.0.1:1" }),
        /^1 The server at http:\/\/127\.0\.0\.1:1 does not answer$/,
      )
      assert.match(yield* said(one, { MILLRACE_API_KEY: "mr_wrong" }), /^1 .*key/i)
    }).pipe(Effect.scoped),
  )

  it.live("asks for the server and the key where they are not named", () =>
    Effect.gen(function* () {
      const asked = yield* Effect.promise(() => outcomeOf(["runs", "signal", "run_1", "paid"], {}))
      assert.strictEqual(asked.code, 2)
      assert.match(asked.err, /^MILLRACE_URL \(or --url\): .*; MILLRACE_API_KEY \(or --api-key\): /)
    }),
  )
})

describe("millrace workflows signal", () => {
  it.live("finds the run that waits, keeps what comes early, and says so", () =>
    Effect.gen(function* () {
      const { client, command } = yield* place
      const pay = node("pay", "wait_signal", [0, 0], { name: "paid", correlation: "order 17" })
      const { id } = yield* Effect.promise(() =>
        client.workflows.create({ name: "Order", nodes: [pay], edges: [] }),
      )
      const args = ["signal", id, "paid", "--correlation", "order 17", "--data", "7"]
      const kept = yield* command([...args, "--idempotency-key", "a"], {}, "workflows")
      const said = 'No run waits for the signal "paid"; it is kept for seven days'
      assert.deepStrictEqual(kept, { code: 0, out: "", err: said })
      const run = yield* Effect.promise(() => client.runs.start({ workflowId: id }))
      yield* Effect.promise(() => run.wait())
      const again = yield* command([...args, "--idempotency-key", "a"], {}, "workflows")
      assert.strictEqual(again.out, run.id)
      const more = yield* command([...args, "--json"], {}, "workflows")
      assert.deepStrictEqual(JSON.parse(more.out), { runId: null })
      const bare = yield* command(["signal", id, "paid"], {}, "workflows")
      assert.strictEqual(bare.code, 2)
      assert.match(bare.err, /correlation/)
    }).pipe(Effect.scoped),
  )
})

describe("millrace runs approve and reject", () => {
  it.live("decide what a run asks, once, and say who has decided", () =>
    Effect.gen(function* () {
      const { client, command } = yield* place
      const fields = [{ name: "amount", type: "number", required: true }]
      const ask = node("ask", "approval", [0, 0], { title: "Sure?", roles: ["owner"], fields })
      const run = yield* Effect.promise(async () => {
        const { id } = await client.workflows.create({ name: "Asks", nodes: [ask], edges: [] })
        const started = await client.runs.start({ workflowId: id })
        while ((await client.approvals.get(started.id, "ask")).status !== "pending");
        return started
      })
      const bare = yield* command(["approve", run.id, "ask"])
      assert.strictEqual(`${bare.code} ${bare.err}`, "1 fields[amount]: expected a value")
      const given = ["--by", "Ada", "--comment", "fine", "--fields", '{ "amount": 7 }']
      const approved = yield* command(["approve", run.id, "ask", ...given])
      assert.deepStrictEqual(approved, {
        code: 0,
        out: run.id,
        err: `Node "ask" of run ${run.id} is approved, by Ada`,
      })
      const late = yield* command(["reject", run.id, "ask"])
      assert.match(late.err, /^It was approved already: by Ada, at /)
      const { nodes } = yield* Effect.promise(() => run.wait())
      assert.deepInclude(nodes["ask"]?.output?.["approved"], { by: "Ada", fields: { amount: 7 } })
    }).pipe(Effect.scoped),
  )
})

describe("millrace runs rerun-failed", () => {
  it.live("takes up a failed run once, and says what it left out", () =>
    Effect.gen(function* () {
      const { client, command } = yield* place
      const failed = yield* Effect.promise(async () => {
        const { id: workflowId } = await client.workflows.create({
          name: "Order",
          nodes: [node("pay", "http_request", [0, 0], { url: "http://127.0.0.1:1/" })],
          edges: [],
        })
        const run = await client.runs.start({ workflowId })
        return run.wait()
      })
      assert.strictEqual(failed.status, "FAILED")
      const args = ["rerun-failed", "--workflow", failed.workflowId, "--from", "2020-01-31"]
      const rerun = `${failed.id}-r1`
      assert.deepStrictEqual(yield* command(args), { code: 0, out: rerun, err: "" })
      yield* Effect.promise(() => client.runs.wait(rerun))
      const { leftOut, started } = JSON.parse((yield* command([...args, "--json"])).out)
      assert.deepStrictEqual(
        [started.map(({ rerunOf }: { rerunOf: string }) => rerunOf), leftOut],
        [[rerun], [{ runId: failed.id, reason: "rerun", rerunId: rerun }]],
      )
      assert.deepStrictEqual(yield* command(["rerun-failed", "--error", "Order"]), {
        code: 0,
        out: "",
        err: "No run was taken up again",
      })
      const { code, err } = yield* command(["rerun-failed", "--limit", "51"])
      assert.strictEqual(code, 1)
      assert.match(err, /^limit: expected /)
    }).pipe(Effect.scoped),
  )
})
