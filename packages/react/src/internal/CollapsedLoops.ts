/**
 * Which loops of a canvas are collapsed: what nobody keeps, because it is how one viewer looks.
 *
 * Guarantees: a node that is chosen, or looked at, is drawn: the loops around it expand.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { useCallback, useEffect, useState } from "react"
import type { CanvasProps } from "../CanvasProps.ts"
import { loopBodiesOf } from "../model/editing/internal/LoopBodies.ts"

type Options = Pick<CanvasProps, "lookAt" | "selected" | "selection" | "value"> & {
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
}

const without = (ids: ReadonlySet<string>, others: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set([...ids].filter((id) => !others.includes(id)))

/** Ids, and what adds one or takes it away again. */
export const useIdSet = () => {
  const [ids, setIds] = useState<ReadonlySet<string>>(() => new Set())
  const toggle = useCallback(
    (id: string) =>
      setIds((known) => (known.has(id) ? without(known, [id]) : new Set([...known, id]))),
    [],
  )
  return { ids, setIds, toggle }
}

/** The loops that are collapsed, and what changes that. */
export const useCollapsedLoops = ({ lookAt, nodeTypes, selected, selection, value }: Options) => {
  const { ids, setIds, toggle } = useIdSet()
  const chosen = selection?.nodeIds
  useEffect(() => {
    if (ids.size === 0) return
    const wanted = [...(chosen ?? []), selected, lookAt].filter((id) => id !== undefined)
    const { loopsAround } = loopBodiesOf(value.nodes, nodeTypes)
    const around = wanted.flatMap(loopsAround)
    if (around.some((id) => ids.has(id))) setIds(without(ids, around))
    // Only what is newly chosen expands: what a change of the drawing brings does not.
  }, [chosen, selected, lookAt])
  return { collapsed: ids, toggleLoop: toggle }
}
