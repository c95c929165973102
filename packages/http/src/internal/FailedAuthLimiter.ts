/**
 * Limits the bad tokens of an address per minute. The counts are in this process's memory.
 *
 * Guarantees: only bad tokens are counted and limited, so a good key works even if its address is
 * shared with somebody who guesses. The number of counts is bounded. Leaves out: finding the
 * address. It is the peer of the socket, or what a trusted proxy forwards.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as NetAddress from "effect/net/NetAddress"
import { noSource, MinuteCounts } from "./MinuteCounts.ts"

/** The address; of IPv6 only its first 64 bits, because one user has all addresses below them. */
const sourceOf = (address: string): string =>
  Result.match(NetAddress.ipFromString(address), {
    onFailure: () => noSource,
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
      const counts = new MinuteCounts(badTokensPerMinute, badTokenSources)

      return FailedAuthLimiter.of({
        count: ({ remoteAddress }) =>
          Effect.map(Clock.currentTimeMillis, (now) =>
            counts.add(sourceOf(Option.getOrElse(remoteAddress, () => noSource)), now),
          ),
      })
    }),
  )
}
