/**
 * Why two ports cannot be joined, in a sentence: on the canvas and in lists.
 */
import type { Messages } from "../Messages.ts"
import type { ConnectRefusal, LinkEnd } from "../model/editing/Connecting.ts"

/** An output and an input. */
export type Ends = readonly [from: LinkEnd, to: LinkEnd]

/** The sentence. */
export const refusalSentence = (
  { joinRefusals }: Messages,
  refusal: ConnectRefusal,
  [from, to]: Ends,
  labelOf: (nodeId: string) => string,
): string => {
  const [source, target] = [labelOf(from.nodeId), labelOf(to.nodeId)]
  switch (refusal.reason) {
    case "cycle":
      return joinRefusals.cycle(source, target)
    case "self":
      return joinRefusals.self(source)
    case "taken":
      return joinRefusals.taken(to.port)
    case "types":
      return joinRefusals.types(`${from.port} (${refusal.gives})`, `${to.port} (${refusal.takes})`)
    case "noPort":
      return joinRefusals.noPort(refusal.port)
    case "exists":
      return joinRefusals.exists(source, target)
    case "leaves":
    case "innerOnly":
    case "outerOnly": {
      const { loopId, ports, reason } = refusal
      return joinRefusals[reason](from.port, labelOf(loopId), ports)
    }
  }
}
