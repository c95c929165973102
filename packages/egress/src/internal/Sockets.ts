/**
 * A connection to judged addresses for a protocol other than HTTP, as long as it is used.
 *
 * Guarantees: connects only to one of the given addresses, even if the name resolves to others by
 * now. However the use ends, also by an interruption, the connection is closed. Leaves out: judging
 * the addresses, and the deadline of the whole.
 */
import type { Scope } from "effect"
import { Deferred, Effect } from "effect"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { canonical } from "../Address.ts"
import type { Bounds, ExchangeReason } from "./Failure.ts"
import { EgressFailed, reasonOf } from "./Failure.ts"
import { fixedLookup, WrongPeer } from "./FixedLookup.ts"
import { GuardedSocket, TooLarge } from "./GuardedSocket.ts"

/** Where to connect to. */
export interface Connecting extends Bounds {
  /** A name, or the address itself. */
  readonly host: string
  readonly port: number
  /** Judged addresses in the spelling of `canonical`; at least one. */
  readonly addresses: ReadonlyArray<string>
}

/** A connection for a protocol other than HTTP. */
export interface OpenSocket {
  /** Sent and received over it is what the protocol says; TLS is left out. */
  readonly stream: GuardedSocket
  /** Begins TLS, for the host of the call. `ca`: who vouches for it, as PEM text. */
  readonly secure: (ca?: string) => Effect.Effect<void, EgressFailed>
}

/** How long connecting may take. */
const connectMillis = 10_000

const socketReason = (error: unknown, securing: boolean): ExchangeReason => {
  if (error instanceof TooLarge) return "too-large"
  return error instanceof WrongPeer ? "refused" : reasonOf(error, securing)
}

const isJudged = ({ remoteAddress = "" }: Socket, addresses: ReadonlyArray<string>): boolean =>
  addresses.includes(canonical(remoteAddress))

const connected = (socket: Socket, to: Connecting): Effect.Effect<void, EgressFailed> => {
  const timeoutMillis = Math.min(connectMillis, to.timeoutMillis)
  const failed = (error: unknown) => EgressFailed.ofSocket(socketReason(error, false), to)
  return Effect.callback<void, EgressFailed>((resume) => {
    socket.once("error", (error) => resume(Effect.fail(failed(error))))
    socket.once("connect", () => {
      const isRight = isJudged(socket, to.addresses)
      resume(isRight ? Effect.void : Effect.fail(failed(new WrongPeer())))
    })
  }).pipe(
    Effect.timeoutOrElse({
      duration: timeoutMillis,
      orElse: () => Effect.fail(EgressFailed.of("timeout", { ...to, timeoutMillis })),
    }),
  )
}

const secured = (stream: GuardedSocket, to: Connecting, ca: string | undefined) =>
  Effect.callback<void, EgressFailed>((resume) => {
    stream.secure({ host: to.host, ca }, (error) => {
      const failure = () => EgressFailed.ofSocket(socketReason(error, true), to)
      resume(error === undefined ? Effect.void : Effect.fail(failure()))
    })
  })

const opened = Effect.fnUntraced(function* (
  to: Connecting,
): Effect.fn.Return<GuardedSocket, EgressFailed, Scope.Scope> {
  const { addresses, host, port } = to
  const lookup = fixedLookup(addresses)
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => connect({ host, port, lookup, autoSelectFamily: true, noDelay: true })),
    (each) => Effect.sync(() => each.destroy()),
  )
  yield* connected(socket, to)
  const stream = new GuardedSocket(socket, to.maxBodyBytes)
  yield* Effect.addFinalizer(() => Effect.sync(() => stream.destroy()))
  return stream
})

/** Connects, and hands the connection to its user. What breaks the connection ends the use, too. */
export const withSocket = <A, E, R>(
  to: Connecting,
  use: (socket: OpenSocket) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E | EgressFailed, R> =>
  Effect.gen(function* () {
    const stream = yield* opened(to)
    const broken = yield* Deferred.make<never, EgressFailed>()
    let isSecuring = false
    stream.once("error", (error) => {
      const failure = EgressFailed.ofSocket(socketReason(error, isSecuring), to)
      Deferred.doneUnsafe(broken, Effect.fail(failure))
    })
    const secure = (ca?: string) =>
      Effect.suspend(() => {
        isSecuring = true
        return Effect.ensuring(
          secured(stream, to, ca),
          Effect.sync(() => (isSecuring = false)),
        )
      })
    return yield* Effect.raceFirst(use({ stream, secure }), Deferred.await(broken))
  }).pipe(Effect.scoped)
