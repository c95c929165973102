/**
 * Twenty thousand requests by chance against a real server on Postgres: none breaks it, every
 * answer is as the OpenAPI document says, and its memory stays as it was.
 *
 * The seed is fixed, so that a failure can be repeated; `FUZZ_SEED` sets another one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Dice } from "../packages/http/test/FuzzDice.ts"
import { fuzz } from "../packages/http/test/Fuzz.ts"
import type { Document } from "../packages/http/test/Operations.ts"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"
import * as LocalServer from "../packages/server/test/LocalServer.ts"

const requests = 20_000
const connections = 500
const megabyte = 1_048_576
const timeout = 560_000
const seed = Number(process.env["FUZZ_SEED"] ?? 7)

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Bytes that are in use once nothing is left to collect. */
const usedBytes = (): number => {
  for (let times = 0; times < 3; times++) collect()
  return process.memoryUsage().heapUsed
}

const nodeTypes = "request response constant transform condition switch merge list fail".split(" ")

/** What comes back for bytes that were a request once. */
const exchange = (port: number, bytes: Uint8Array) =>
  Effect.callback<string>((resume) => {
    let answer = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes))
    socket.setEncoding("latin1").on("data", (part: string) => (answer += part))
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(answer)))
  })

/** A request whose bytes are no longer what they were. */
const spoilt = (dice: Dice, key: string): Uint8Array => {
  const head = `POST /api/v1/workflows HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n`
  const body = '{"name":"Bytes"}'
  const rest = `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const bytes = new TextEncoder().encode(head + rest)
  for (let times = dice.below(6); times >= 0; times--) {
    bytes[dice.below(bytes.length)] = dice.below(256)
  }
  return dice.chance(20) ? bytes.slice(0, dice.below(bytes.length)) : bytes
}

describe("a server that is asked anything", () => {
  it.live(
    `answers ${requests} odd requests as the document says, and keeps its memory`,
    () =>
      Effect.gen(function* () {
        const { origin, tenant } = yield* LocalServer.start({}, TestPostgres.layerStores)
        const tenants = yield* Effect.forEach(Array.from({ length: 10 }), () => tenant)
        const document = yield* Effect.promise(async () => {
          const answer = await fetch(`${origin}/api/openapi.json`)
          return (await answer.json()) as Document
        })
        const target = { origin, send: fetch, keys: tenants.map(({ key }) => key) }
        const round = (count: number, from: number) =>
          Effect.promise(() => fuzz(document, target, { count, seed: from, nodeTypes }))
        const warm = yield* round(1_000, seed + 1)
        assert.deepStrictEqual(warm.complaints, [])
        const before = usedBytes()
        const { complaints, statuses } = yield* round(requests, seed)
        const grown = (usedBytes() - before) / megabyte
        const counts = [...statuses].toSorted(([a], [b]) => a - b)
        console.log(counts.map(([status, count]) => `${status}: ${count}`).join(", "))
        console.log(`memory: ${grown.toFixed(1)} MB`)
        assert.deepStrictEqual(complaints, [])
        assert.isBelow(grown, 64)
      }).pipe(Effect.scoped),
    timeout,
  )

  it.live(
    `turns away ${connections} requests with spoilt bytes, and answers on`,
    () =>
      Effect.gen(function* () {
        const bounds = { headersMillis: 300, requestMillis: 500, idleMillis: 300, lookMillis: 50 }
        const { origin, port, tenant } = yield* LocalServer.start(bounds)
        const { key } = yield* tenant
        const dice = new Dice(seed)
        const answers = yield* Effect.forEach(
          Array.from({ length: connections }, () => spoilt(dice, key)),
          (bytes) => exchange(port, bytes),
          { concurrency: 50 },
        )
        for (const answer of answers.filter((each) => each !== "")) {
          assert.match(answer, /^HTTP\/1\.1 [24]\d\d /)
        }
        const health = yield* Effect.promise(() => fetch(`${origin}/readyz`))
        assert.strictEqual(health.status, 200)
      }).pipe(Effect.scoped),
    timeout,
  )
})
