/**
 * The guard for the calls of nodes: public addresses only, within the current limits.
 *
 * Guarantees: a process has at most `callsAtOnce`, `callsPerOrigin` and `callsPerAccount` calls in
 * progress; further calls wait in turn. A secret goes only to its hosts. Leaves out: deliveries of
 * webhooks. They have their own guard and limits, so neither waits for the other.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { Egress } from "@millrace/egress/Egress"
import type { Exception, SocketPorts } from "@millrace/egress/Policy"
import { openWeb } from "@millrace/egress/Policy"
import { Context, Effect, Layer } from "effect"

/** Takes the secrets of the calling node nowhere but to their hosts, whatever the node says. */
const confining = ({ judge, request, socket }: Egress["Service"]): Egress["Service"] => ({
  judge,
  request: (call) => Effect.contextWith((context) => request(confined(call, context))),
  socket: (call, use) => Effect.contextWith((context) => socket(confined(call, context), use)),
})

const confined = <C extends object>(call: C, context: Context.Context<never>): C => {
  const node = Context.getOrUndefined(context, CurrentNode)
  return node === undefined ? call : { ...call, confined: node.confined }
}

/** The guard, with exceptions for addresses that are not public, and other ports than usual. */
export const layer = (
  allow: ReadonlyArray<Exception> = [],
  ports: Partial<SocketPorts> = {},
): Layer.Layer<Egress> =>
  Layer.effect(Egress, Effect.map(Egress, confining)).pipe(
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
