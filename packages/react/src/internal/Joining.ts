/**
 * Joining ports of a canvas: by dragging, by a click at one and at the other, and by keyboard.
 *
 * Guarantees: what cannot be joined is refused in a sentence, and nothing changes. Leaves out: how
 * ports are drawn.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { Connection, Edge, FinalConnectionState, OnConnectStartParams } from "@xyflow/react"
import { useCallback, useMemo, useState } from "react"
import type { CanvasLayout, CanvasValue } from "../model/CanvasLayout.ts"
import type { Command } from "../model/editing/Command.ts"
import { canConnect, edgeBetween, portsIn } from "../model/editing/Connecting.ts"
import type { DocumentEdge, DocumentNode, WorkflowDocument } from "../model/editing/Document.ts"
import type { PortEnd } from "./CanvasContext.ts"
import type { Ends } from "./JoinRefusal.ts"
import { refusalSentence } from "./JoinRefusal.ts"
import { useSurroundings } from "./Surroundings.ts"

/** What is drawn, as the commands of an editor take it. */
export const drawnDocument = ({ edges, nodes }: CanvasValue): WorkflowDocument => ({
  name: "",
  description: null,
  settings: {},
  nodes: nodes as ReadonlyArray<DocumentNode>,
  edges: edges as ReadonlyArray<DocumentEdge>,
})

/** The output and the input of two ports; nothing if both are of one side. */
export const endsOf = (one: PortEnd, other: PortEnd): Ends | undefined => {
  if (one.side === other.side) return undefined
  return one.side === "source" ? [one, other] : [other, one]
}

const endsOfConnection = (connection: Connection | Edge): Ends => [
  { nodeId: connection.source, port: connection.sourceHandle || "output" },
  { nodeId: connection.target, port: connection.targetHandle || "input" },
]

interface JoiningOptions {
  readonly value: CanvasValue
  readonly layout: CanvasLayout
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly onCommand: (command: Command) => void
  readonly say: (sentence: string) => void
  /** Called when a port is dragged to an empty place. */
  readonly onDropped: (from: PortEnd, at: { readonly x: number; readonly y: number }) => void
}

/** Judges connections. */
const useJudge = ({ layout, nodeTypes, value }: JoiningOptions) => {
  const { messages } = useSurroundings()
  return useMemo(() => {
    const document = drawnDocument(value)
    const portsOf = portsIn(
      document,
      nodeTypes,
      value.ports === undefined ? undefined : { nodes: value.ports as never },
    )
    const labels = new Map(layout.boxes.map(({ id, label }) => [id, label]))
    const labelOf = (nodeId: string) => labels.get(nodeId) ?? nodeId
    const refusalOf = (ends: Ends | undefined, without?: string): string | undefined => {
      if (ends === undefined) return messages.joinRefusals.sides
      const judged = canConnect(document, portsOf, ...ends, without)
      return judged.ok ? undefined : refusalSentence(messages, judged.refusal, ends, labelOf)
    }
    return { document, labelOf, refusalOf }
  }, [layout, messages, nodeTypes, value])
}

const pointOf = (event: MouseEvent | TouchEvent) => {
  const { clientX, clientY } = "changedTouches" in event ? event.changedTouches[0]! : event
  return { x: clientX, y: clientY }
}

const endOf = (state: FinalConnectionState, which: "fromHandle" | "toHandle") => {
  const handle = state[which]
  if (handle === null) return undefined
  const { id, nodeId, type } = handle
  return { nodeId, port: id ?? (type === "source" ? "output" : "input"), side: type }
}

/** What joins two ports, and what is known meanwhile. */
const useJoin = (options: JoiningOptions) => {
  const { onCommand, say } = options
  const { messages } = useSurroundings()
  const [from, setFrom] = useState<PortEnd>()
  // The edge of which an end is moved.
  const [moved, setMoved] = useState<string>()
  const judge = useJudge(options)
  const { document, labelOf, refusalOf } = judge
  const join = (ends: Ends | undefined): boolean => {
    const refusal = refusalOf(ends)
    if (refusal !== undefined || ends === undefined) {
      say(refusal ?? "")
      return false
    }
    onCommand({ type: "connect", edge: edgeBetween(document, ...ends) })
    say(messages.joined(labelOf(ends[0].nodeId), labelOf(ends[1].nodeId)))
    return true
  }
  const end = () => {
    setFrom(undefined)
    setMoved(undefined)
  }
  return { end, from, join, judge, moved, setFrom, setMoved }
}

/** The first port of a node that fits, or else the first one, which then says why not. */
const firstFit = (
  { refusalOf }: ReturnType<typeof useJudge>,
  { boxes }: CanvasLayout,
  from: PortEnd,
  nodeId: string,
): Ends | undefined => {
  const box = boxes.find(({ id }) => id === nodeId)
  const side = from.side === "source" ? "target" : "source"
  const ports = (side === "target" ? box?.inputs : box?.outputs) ?? []
  const all = ports.map(({ name }) => endsOf(from, { nodeId, port: name, side })!)
  return all.find((ends) => refusalOf(ends) === undefined) ?? all[0]
}

/** What React Flow asks and tells while somebody drags. */
const flowOf = (
  { layout, onCommand, onDropped, say }: JoiningOptions,
  { end, join, judge, moved, setFrom, setMoved }: ReturnType<typeof useJoin>,
) => {
  const { document: drawn, refusalOf } = judge
  return {
    isValidConnection: (connection: Connection | Edge) =>
      refusalOf(endsOfConnection(connection), moved) === undefined,
    onConnect: (connection: Connection) => void join(endsOfConnection(connection)),
    onConnectStart: (_: MouseEvent | TouchEvent, begun: OnConnectStartParams) => {
      const { handleId, handleType, nodeId } = begun
      if (nodeId !== null && handleId !== null && handleType !== null)
        setFrom({ nodeId, port: handleId, side: handleType })
    },
    onConnectEnd: (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
      const [begun, met] = [endOf(state, "fromHandle"), endOf(state, "toHandle")]
      end()
      if (begun === undefined || state.isValid === true) return
      const point = pointOf(event)
      const under = document.elementFromPoint(point.x, point.y)
      const nodeId = under?.closest<HTMLElement>(".react-flow__node")?.dataset["id"]
      if (met !== undefined) {
        const refusal = refusalOf(endsOf(begun, met), moved)
        if (refusal !== undefined) say(refusal)
      } else if (moved !== undefined) return
      else if (nodeId !== undefined) join(firstFit(judge, layout, begun, nodeId))
      else if (under?.closest(".react-flow__pane") !== null) onDropped(begun, point)
    },
    onReconnectStart: (_: unknown, edge: Edge) => setMoved(edge.id),
    onReconnect: (edge: Edge, connection: Connection) => {
      const ends = endsOfConnection(connection)
      if (refusalOf(ends, edge.id) !== undefined) return
      const next = { ...edgeBetween(drawn, ...ends), id: edge.id }
      onCommand({ type: "reconnect", edgeId: edge.id, edge: next })
    },
  }
}

/** What joins the ports of a canvas. */
export const useJoining = (options: JoiningOptions) => {
  const { say } = options
  const { messages } = useSurroundings()
  const joining = useJoin(options)
  const { end, from, join, judge, moved, setFrom } = joining
  const touchPort = (port: PortEnd) => {
    const isSame = from?.nodeId === port.nodeId && from.port === port.port
    if (from === undefined) {
      setFrom(port)
      say(messages.joiningFrom(port.port))
    } else if (isSame && from.side === port.side) {
      end()
      say(messages.joiningEnded)
    } else if (join(endsOf(from, port))) end()
  }
  const refusalOf = useCallback(
    (port: PortEnd) =>
      from === undefined ? undefined : judge.refusalOf(endsOf(from, port), moved),
    [from, judge, moved],
  )
  return { end, flow: flowOf(options, joining), from, refusalOf, touchPort }
}
