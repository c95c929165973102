/**
 * The guard for the calls of nodes: public addresses only, within the current limits.
 *
 * Guarantees: a process has at most `callsAtOnce`, `callsPerOrigin` and `callsPerAccount` calls in
 * progress; further calls wait in turn. A secret goes only to its hosts. Leaves out: deliveries of
 * webhooks. They have their own guard and limits, so neither waits for the other.
 */
import { CurrentLimits, refusedHostsTold } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import type { Call, SocketCall } from "@millrace/egress/Egress"
import { Egress, EgressRefused } from "@millrace/egress/Egress"
import type { Exception, SocketPorts } from "@millrace/egress/Policy"
import { openWeb } from "@millrace/egress/Policy"
import { Context, Effect, Layer, Logger } from "effect"

/** Takes the secrets of the calling node nowhere but to their hosts, whatever the node says. */
const confining = ({ judge, request, socket }: Egress["Service"]): Egress["Service"] => ({
  judge,
  request: (call) => Effect.contextWith((context) => request(confined(call, context))),
  socket: (call, use) => Effect.contextWith((context) => socket(confined(call, context), use)),
})

/** Where a call leads, for people: the host and the port, and nothing else of its address. */
const placeOf = (call: Call | SocketCall): string => {
  if (!("url" in call)) return `${call.host}:${call.port}`
  return URL.parse(call.url)?.host ?? ""
}

/**
 * Tells whoever operates the process which hosts nodes may not call that `setting` would allow:
 * each once, and only so many. Who drew the workflow reads the refusal in the node run.
 */
const telling = (
  { judge, request, socket }: Egress["Service"],
  setting: string,
  loggers: ReadonlySet<Logger.Logger<unknown, unknown>>,
): Egress["Service"] => {
  const told = new Set<string>()
  const tell = (call: Call | SocketCall, error: { readonly _tag: string }) => {
    if (!(error instanceof EgressRefused) || !error.isAllowable) return Effect.void
    const place = placeOf(call)
    if (told.has(place) || told.size >= refusedHostsTold) return Effect.void
    told.add(place)
    const why = `${error.message}; ${setting} says which private networks nodes may call`
    // The logger of a node writes into its run.
    return Effect.provideService(
      Effect.logWarning(`a call to ${quoted(place)} was refused: ${why}`),
      Logger.CurrentLoggers,
      loggers,
    )
  }
  return {
    judge,
    request: (call) => Effect.tapError(request(call), (error) => tell(call, error)),
    socket: (call, use) =>
      Effect.tapError(socket(call, use), (error) => tell(call, error as { readonly _tag: string })),
  }
}

const confined = <C extends object>(call: C, context: Context.Context<never>): C => {
  const node = Context.getOrUndefined(context, CurrentNode)
  return node === undefined ? call : { ...call, confined: node.confined }
}

/**
 * The guard, with exceptions for addresses that are not public, and other ports than usual. With
 * the name of the `setting` that makes exceptions, refusals that it would change are logged.
 */
export const layer = (
  allow: ReadonlyArray<Exception> = [],
  ports: Partial<SocketPorts> = {},
  setting?: string,
): Layer.Layer<Egress> =>
  Layer.effect(
    Egress,
    Effect.gen(function* () {
      const guard = confining(yield* Egress)
      return setting === undefined ? guard : telling(guard, setting, yield* Logger.CurrentLoggers)
    }),
  ).pipe(
    Layer.provide(
      Layer.unwrap(
        Effect.map(CurrentLimits, (limits) =>
          Egress.layer({
            ...openWeb,
            allow,
            sockets: { ...openWeb.sockets, ...ports },
            calls: {
              atOnce: limits.callsAtOnce,
              perOrigin: limits.callsPerOrigin,
              perAccount: limits.callsPerAccount,
              waitingPerAccount: limits.callsWaitingPerAccount,
            },
          }),
        ),
      ),
    ),
  )
