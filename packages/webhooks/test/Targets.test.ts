import { describe, it } from "@effect/vitest"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import { Egress } from "@millrace/egress/Egress"
import { httpsOnly } from "@millrace/egress/Policy"
import type { Resolver } from "@millrace/egress/Resolve"
import { Unresolvable } from "@millrace/egress/Resolve"
import { Effect, Layer, Result } from "effect"
import { expect } from "vitest"
import * as Targets from "../src/Targets.ts"

const names: { readonly [name: string]: ReadonlyArray<string> } = {
  "receiver.example": ["93.184.216.34"],
  "inside.example": ["93.184.216.34", "10.0.0.1"],
}

const resolve: Resolver = (name) =>
  name in names
    ? Effect.succeed(names[name] ?? [])
    : Effect.fail(new Unresolvable({ isTemporary: false }))

const guard = Egress.layer(httpsOnly, resolve)

const accept = (url: string, headers: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const targets = yield* WebhookTargets
    const result = yield* Effect.result(targets.accept({ url, headers }))
    return Result.isSuccess(result) ? result.success : result.failure
  }).pipe(Effect.provide(Targets.layer.pipe(Layer.provide(guard))))

/** Addresses, and what is said of them. */
const refused: ReadonlyArray<readonly [string, RegExp]> = [
  ["http://receiver.example/", /only https URLs/],
  ["ftp://receiver.example/", /only https URLs/],
  ["javascript:alert(1)", /only https URLs/],
  ["file:///etc/passwd", /only https URLs/],
  ["not an address", /cannot be read/],
  ["", /cannot be read/],
  ["https://", /cannot be read/],
  ["https://receiver.example:22/", /port 22 may not/],
  ["https://receiver.example:80/", /port 80 may not/],
  ["https://user@receiver.example/", /user name or a password/],
  ["https://user:word@receiver.example/", /user name or a password/],
  ["https://nowhere.example/", /"nowhere.example" could not be resolved/],
  ["https://inside.example/", /does not lead to a public address/],
  ...[
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "localhost",
    "a.localhost",
    "0",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[64:ff9b::7f00:1]",
  ].map((host) => [`https://${host}/`, /does not lead to a public address/] as const),
]

describe("Targets.accept", () => {
  it.effect("accepts https on the usual ports, in one spelling", () =>
    Effect.gen(function* () {
      expect(yield* accept("HTTPS://Receiver.Example:443/a b?c=%00#d")).toEqual({
        url: "https://receiver.example/a%20b?c=%00#d",
        origin: "https://receiver.example",
      })
      expect(yield* accept("https://93.184.216.34:8443")).toEqual({
        url: "https://93.184.216.34:8443/",
        origin: "https://93.184.216.34:8443",
      })
    }),
  )

  it.effect.each(refused)("refuses %s", ([url, why]) =>
    Effect.gen(function* () {
      const answer = yield* accept(url)
      expect(answer).toMatch(/^webhook\.url: [a-z]/)
      expect(answer).toMatch(why)
      expect(answer).not.toMatch(/\d+\.\d+\.\d+|\n/)
    }),
  )

  it.effect.each(["\t", "\n", "\r", "\u0000", "\u001f", "\u007f", "\u0085"])(
    "refuses an address with the control character %j, wherever it is",
    (control) =>
      Effect.gen(function* () {
        const parts = ["https://receiver", ".example/hook"]
        for (const url of [
          parts.join(control),
          control + parts.join(""),
          parts.join("") + control,
        ]) {
          expect(yield* accept(url)).toBe("webhook.url: has control characters")
        }
      }),
  )

  it.effect("refuses a longer address than a run keeps", () =>
    Effect.gen(function* () {
      const longest = "https://receiver.example/".padEnd(2_048, "a")
      expect(yield* accept(longest)).toHaveProperty("url", longest)
      expect(yield* accept(`${longest}a`)).toBe("webhook.url: is longer than 2048 characters")
    }),
  )

  const reserved = [
    "webhook-id",
    "Webhook-Signature",
    "webhook-anything",
    "Host",
    "Content-Type",
    "content-length",
    "Content-Encoding",
    "User-Agent",
    "Connection",
    "Transfer-Encoding",
    "Upgrade",
    "TE",
    "Trailer",
    "Proxy-Authorization",
    "Keep-Alive",
    "Expect",
  ]

  it.effect("refuses headers of ours, and those that decide where a request goes or ends", () =>
    Effect.gen(function* () {
      for (const name of reserved) {
        const answer = yield* accept("https://receiver.example/", { [name]: "x" })
        expect(answer).toBe(`webhook.headers: the header "${name.toLowerCase()}" may not be set`)
      }
    }),
  )

  it.effect("refuses malformed headers, too many and too large ones", () =>
    Effect.gen(function* () {
      const url = "https://receiver.example/"
      const bad = [
        { "X A": "b" },
        { "": "b" },
        { "X-A": "b\r\nHost: evil" },
        { "X-A": "b\n" },
        { "X-A": "\u0000" },
        { "X-A\r\nB": "c" },
        { "X-A": "\u20ac" },
        { "X-A": "x".repeat(4_097) },
        Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, "y"])),
      ]
      for (const headers of bad) {
        expect(yield* accept(url, headers)).toMatch(/^webhook\.headers: [a-z]/)
      }
      const good = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`x-${n}`, "y"]))
      expect(yield* accept(url, { ...good, "x-0": "Bearer \u00fc" })).toHaveProperty("url", url)
      // Names count, too.
      expect(yield* accept(url, { "X-A": "x".repeat(4_093) })).toHaveProperty("url", url)
      const tooLarge = { "X-A": "x".repeat(4_094) }
      expect(yield* accept(url, tooLarge)).toBe("webhook.headers: they have more than 4096 bytes")
      expect(yield* accept(url, { ...good, more: "y" })).toBe(
        "webhook.headers: there are more than 20",
      )
    }),
  )
})
