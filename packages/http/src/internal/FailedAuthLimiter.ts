/**
 * Limits the bad tokens of an address per minute. The counts are in this process's memory.
 *
 * Guarantees: only bad tokens are counted and limited, so a good key works even if its address is
 * shared with somebody who guesses. The number of counts is bounded. Leaves out: finding the
 * address. It is the peer of the socket, or what a trusted proxy forwards.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { minuteMillis } from "@millrace/core/domain/Timestamp"
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as NetAddress from "effect/net/NetAddress"

/** The source of bad tokens without an address, and of those that find no room for a count. */
const anybody = ""

/** The address; of IPv6 only its first 64 bits, because one user has all addresses below them. */
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
     * Counts a bad token of this request's address. If there were too many this minute, answers how
     * many seconds to wait.
     */
    readonly count: (
      request: HttpServerRequest.HttpServerRequest,
    ) => Effect.Effect<number | undefined>
  }
>()("@millrace/http/FailedAuthLimiter") {
  /** The bounds are those of `CurrentLimits` when the layer is built. */
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
