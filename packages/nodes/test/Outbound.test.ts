// What a process tells its operator of calls that nodes may not make.
import { describe, it } from "@effect/vitest"
import { Egress } from "@millrace/egress/Egress"
import { Effect, Layer, Logger } from "effect"
import { expect } from "vitest"
import * as Outbound from "../src/Outbound.ts"

/** The guard, and what its process logs. A handler's own log is another one. */
const guarded = (setting?: string) => {
  const told: Array<string> = []
  const toOperator = Logger.make(({ message }) => void told.push(String(message)))
  const layer = Outbound.layer([], {}, setting).pipe(Layer.provide(Logger.layer([toOperator])))
  return { layer, told }
}

const refused = (url: string) =>
  Effect.gen(function* () {
    const { request } = yield* Egress
    return (yield* Effect.flip(request({ method: "GET", url }))).message
  })

const smtp = Effect.gen(function* () {
  const { socket } = yield* Egress
  const to = {
    protocol: "smtp:",
    host: "127.0.0.1",
    port: 25,
    isSecure: true,
    leaving: [],
  } as const
  return (yield* Effect.flip(socket(to, () => Effect.void))).message
})

describe("a call to a private address", () => {
  it.effect(
    "is told to the operator with the setting that would allow it, once for each host",
    () => {
      const { layer, told } = guarded("MILLRACE_EGRESS_ALLOW")
      return Effect.gen(function* () {
        const url = "http://127.0.0.1:3000/orders?key=1"
        expect(yield* refused(url)).toBe("Port 3000 may not be called")
        yield* refused(url)
        expect(yield* refused("http://localhost/")).toBe(
          "The URL does not lead to a public address",
        )
        expect(yield* smtp).toBe("The host does not lead to a public address")
        const says = "; MILLRACE_EGRESS_ALLOW says which private networks nodes may call"
        expect(told).toEqual([
          `a call to "127.0.0.1:3000" was refused: Port 3000 may not be called${says}`,
          `a call to "localhost" was refused: The URL does not lead to a public address${says}`,
          `a call to "127.0.0.1:25" was refused: The host does not lead to a public address${says}`,
        ])
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect(
    "is not told for what no setting allows, and for no more hosts than a log bears",
    () => {
      const { layer, told } = guarded("MILLRACE_EGRESS_ALLOW")
      return Effect.gen(function* () {
        for (const url of ["ftp://127.0.0.1/", "nonsense", "https://me@example.com/"]) {
          yield* refused(url)
        }
        expect(told).toEqual([])
        for (let port = 3_000; port < 3_150; port++) yield* refused(`http://127.0.0.1:${port}/`)
        expect(told).toHaveLength(100)
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect("is told to nobody without the name of a setting", () => {
    const { layer, told } = guarded()
    return Effect.gen(function* () {
      yield* refused("http://127.0.0.1/")
      expect(told).toEqual([])
    }).pipe(Effect.provide(layer))
  })
})
