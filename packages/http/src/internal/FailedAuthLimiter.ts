/**
 * How many bad tokens an address may try: a budget for each minute, in this process's memory.
 *
 * Guarantees: only bad tokens are counted and only they are turned away, so whoever shares the
 * address with a guesser keeps working; what is kept is bounded, however many addresses there are.
 * Leaves out: where the address comes from. It is the peer of the socket, unless whoever serves
 * says that the peer is a proxy to be believed.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { minuteMillis } from "@millrace/core/domain/Timestamp"
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as NetAddress from "effect/net/NetAddress"

/** Whom a bad token is put down to where there is no address, or no room for one more. */
const anybody = ""

/** One guesser is given a whole network of 64 bits where addresses are as plenty as in IPv6. */
const sourceOf = (address: string): string =>
  Result.match(NetAddress.ipFromString(address), {
    onFailure: () => anybody,
    onSuccess: (parsed) => {
      const ip = NetAddress.toCanonical(parsed)
      return NetAddress.isIpv4Address(ip)
        ? NetAddress.formatIp(ip)
        : NetAddress.ipv6ToSegments(ip).slice(0, 4).join(":")
    },
  })

export class FailedAuthLimiter extends Context.Service<
  FailedAuthLimiter,
  {
    /**
     * Counts a bad token of this request's sender. Answers how many seconds to wait once there were
     * too many this minute.
     */
    readonly count: (
      request: HttpServerRequest.HttpServerRequest,
    ) => Effect.Effect<number | undefined>
  }
>()("@millrace/http/FailedAuthLimiter") {
  /** Counts of its own. The bounds are those in force when it is made. */
  static readonly layer: Layer.Layer<FailedAuthLimiter> = Layer.effect(
    FailedAuthLimiter,
    Effect.map(CurrentLimits, ({ badTokenSources, badTokensPerMinute }) => {
      const counts = new Map<string, number>()
      let minute = -1

      const countAt = (address: string, now: number): number | undefined => {
        const current = Math.floor(now / minuteMillis)
        if (current !== minute) counts.clear()
        minute = current
        const wanted = sourceOf(address)
        const source = counts.has(wanted) || counts.size < badTokenSources ? wanted : anybody
        const count = (counts.get(source) ?? 0) + 1
        counts.set(source, count)
        if (count <= badTokensPerMinute) return undefined
        return Math.max(1, Math.ceil(((current + 1) * minuteMillis - now) / 1_000))
      }

      return FailedAuthLimiter.of({
        count: ({ remoteAddress }) =>
          Effect.map(Clock.currentTimeMillis, (now) =>
            countAt(
              Option.getOrElse(remoteAddress, () => anybody),
              now,
            ),
          ),
      })
    }),
  )
}
