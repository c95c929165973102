/**
 * The names that the expressions of a node can use, and what they had in the last run.
 *
 * Guarantees: values of a run are read when somebody begins to type, of the nearest nodes only.
 */
import type { NodeTypeItem, WorkflowValidation } from "@millrace/api/PromiseClient"
import { useQueries } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import type { PortsOfNode } from "../../model/editing/Connecting.ts"
import type { DocumentNode, WorkflowDocument } from "../../model/editing/Document.ts"
import { inputsOf, isRecord, sourcePortOf, targetPortOf } from "../../model/editing/Document.ts"
import { loopBodiesOf } from "../../model/editing/internal/LoopBodies.ts"
import type { KnownValues, NameScope } from "../../model/editing/internal/NameCompletion.ts"
import { nodeIdOf } from "../../model/editing/internal/NameCompletion.ts"
import { labelOf } from "../../model/editing/internal/NodeInputs.ts"
import { typeOf } from "../../model/internal/NodeVersions.ts"
import { useSurroundings } from "../Surroundings.ts"
import type { NameSource } from "./NameInput.tsx"

interface Named {
  readonly workflowId: string
  readonly document: WorkflowDocument
  readonly node: DocumentNode
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly portsOf: PortsOfNode
  readonly validation: WorkflowValidation | undefined
  readonly lastRunId: string | undefined
  readonly secrets: ReadonlyArray<string>
}

/** Of so many nodes the last outputs are read. */
const nearestNodes = 30

const always: ReadonlyArray<string> = ["values", "run"]
const notNodes: ReadonlySet<string> = new Set([...always, "input", "secrets"])
const requestType = "request"

/** The schema of `values`, from the fields of the request node. */
const schemaOfValues = ({ nodes }: WorkflowDocument): unknown => {
  const request = nodes.find(({ type }) => type === requestType)
  const fields = request === undefined ? undefined : inputsOf(request)["fields"]
  const named = (Array.isArray(fields) ? fields : []).filter(isRecord)
  const properties = new Map<string, unknown>()
  for (const { description, name, type } of named)
    if (typeof name === "string")
      properties.set(name, { ...(type === "any" ? {} : { type }), description })
  return { type: "object", properties: Object.fromEntries(properties) }
}

/** What somebody has named in the workflow already may be named again. */
const secretsIn = ({ nodes }: WorkflowDocument): ReadonlyArray<string> => {
  const text = JSON.stringify(nodes.map((node) => inputsOf(node)))
  return Array.from(text.matchAll(/\{\{\s*secrets\.([\w$-]+)/g), ([, name]) => name!)
}

/** What a node sees of another one; of a loop around it that is what the body sees. */
const outputsSeenBy = ({ document, node, nodeTypes, portsOf }: Named): NameScope["outputsOf"] => {
  const loops = loopBodiesOf(document.nodes, nodeTypes).loopsAround(node.id)
  return (nodeId) => {
    if (!loops.includes(nodeId)) return portsOf(nodeId)?.outputPorts ?? []
    const loop = document.nodes.find(({ id }) => id === nodeId)
    return (loop === undefined ? undefined : typeOf(nodeTypes, loop))?.bodyPorts ?? []
  }
}

/** Reads what nodes of a run put out. */
const useOutputs = (
  runId: string | undefined,
  nodeIds: ReadonlyArray<string>,
  isWanted: boolean,
) => {
  const { client, queries } = useSurroundings()
  return useQueries(
    {
      queries: nodeIds.map((nodeId) => ({
        queryKey: ["node", runId, nodeId, "last"],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          client.runs.node(runId!, nodeId, { signal }),
        enabled: isWanted && runId !== undefined,
      })),
      combine: (found) => found.flatMap(({ data }) => (data === undefined ? [] : [data])),
    },
    queries,
  )
}

const useKnownValues = (
  { document, lastRunId, node, nodeTypes }: Named,
  names: ReadonlyArray<string>,
  isWanted: boolean,
) => {
  const nodeIds = useMemo(() => {
    const { loopsAround } = loopBodiesOf(document.nodes, nodeTypes)
    const around = loopsAround(node.id)
    const before = names.filter((name) => !notNodes.has(name)).map(nodeIdOf)
    // A run has no nodes of bodies, and of a loop it has what the body does not see.
    return [node.id, ...before.slice(-nearestNodes)].filter(
      (id) => loopsAround(id).length === 0 && !around.includes(id),
    )
  }, [names, node.id, document.nodes, nodeTypes])
  const found = useOutputs(lastRunId, nodeIds, isWanted)
  return useMemo((): KnownValues | undefined => {
    if (found.length === 0 || lastRunId === undefined) return undefined
    const outputs = new Map(found.map(({ nodeId, output }) => [nodeId, output]))
    const request = document.nodes.find(({ type }) => type === requestType)
    const said = outputs.get(request?.id ?? "")
    const own = found.find(({ nodeId }) => nodeId === node.id)?.input
    return {
      outputs,
      values: isRecord(said) ? said["values"] : undefined,
      input: isRecord(own) ? own["input"] : undefined,
    }
  }, [found, lastRunId, document.nodes, node.id])
}

const schemaOfInput = ({ document, node, portsOf }: Named): unknown => {
  const edge = document.edges.find(
    (each) => each.target === node.id && targetPortOf(each) === "input",
  )
  const outputs = edge === undefined ? [] : (portsOf(edge.source)?.outputPorts ?? [])
  return edge && outputs.find(({ name }) => name === sourcePortOf(edge))?.schema
}

/** The names of a node. */
export const useNameSource = (named: Named): NameSource => {
  const { document, lastRunId, node, nodeTypes, portsOf, secrets, validation, workflowId } = named
  const [isWanted, want] = useState(false)
  const names = useMemo(
    () => validation?.nodes.find(({ nodeId }) => nodeId === node.id)?.names ?? always,
    [validation, node.id],
  )
  const known = useKnownValues(named, names, isWanted)
  return useMemo(() => {
    const nodes = new Map(document.nodes.map((each) => [each.id, each]))
    const scopeOf = (takesSecrets: boolean): NameScope => ({
      names,
      outputsOf: outputsSeenBy(named),
      labelOf: (nodeId) => {
        const found = nodes.get(nodeId)
        return found === undefined ? nodeId : labelOf(found, nodeTypes)
      },
      values: schemaOfValues(document),
      input: schemaOfInput(named),
      secrets: takesSecrets ? [...new Set([...secrets, ...secretsIn(document)])] : [],
      known,
    })
    const place = { workflowId, nodeId: node.id, runId: lastRunId }
    return { place, scopeOf, wantValues: () => want(true) }
  }, [document, names, portsOf, nodeTypes, secrets, known, workflowId, node.id, lastRunId])
}
