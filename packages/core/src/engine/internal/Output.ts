/**
 * What a handler returns as the output of its node: plain JSON, on declared ports, small enough.
 *
 * Guarantees: the copy is frozen, so that no handler can change what another one sees. Leaves out:
 * large values, which are stored before they are an output.
 */
import { Result } from "effect"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { frozenCopy, isJsonObject } from "../../domain/Json.ts"
import { largeJson } from "../../domain/LargeValue.ts"
import type { Limits } from "../../domain/Limits.ts"
import type { Ports } from "../../domain/NodeType.ts"
import { listed, quoted } from "../../domain/Quote.ts"
import type { RunValues } from "./RunValues.ts"
import { mostBytesPerCharacter } from "./RunValues.ts"

/** Why something cannot be a node's output, apart from what its values are. */
const problemOfPorts = (ports: Ports, output: unknown): string | undefined => {
  if (!isJsonObject(output)) return "the handler returned something that is not a record of ports"
  for (const port of Object.keys(output)) {
    if (ports.outputs.has(port)) continue
    const known = listed(ports.outputs.keys())
    return `the handler returned output ${quoted(port)}, which is not declared; declared: ${known}`
  }
  return undefined
}

/** A frozen copy of an output, and how many characters it has at least. */
export interface OutputCopy {
  readonly output: JsonObject
  readonly size: number
}

/** A copy, or the sentence that says why the output is refused. */
export const copyOutput = (
  ports: Ports,
  output: unknown,
  values?: RunValues,
): Result.Result<OutputCopy, string> => {
  const problem = problemOfPorts(ports, output)
  if (problem !== undefined) return Result.fail(problem)
  const copy: Record<string, Json> = {}
  let size = 0
  for (const [port, value] of Object.entries(output as object)) {
    if (value === undefined) continue
    const known = values?.knownAs(value)
    if (known !== undefined) {
      copy[port] = largeJson(known)
      continue
    }
    const frozen = frozenCopy(value)
    if (Result.isFailure(frozen)) {
      return Result.fail(`output ${quoted(port)} is not JSON: ${frozen.failure}`)
    }
    copy[port] = frozen.success.value
    size += port.length + frozen.success.size
  }
  return Result.succeed({ output: Object.freeze(copy), size })
}

/** A frozen copy of an output, or the sentence that says why it is refused. */
export const checkOutput = (
  ports: Ports,
  output: unknown,
  limits: Limits,
): Result.Result<JsonObject, string> =>
  Result.flatMap(copyOutput(ports, output), (copy) => {
    const tooBig = problemOfSize(copy.output, copy.size, limits.outputBytes)
    return tooBig === undefined ? Result.succeed(copy.output) : Result.fail(tooBig)
  })

const encoder = new TextEncoder()

export const without = (output: JsonObject, ports: ReadonlyMap<string, unknown>): JsonObject =>
  Object.fromEntries(Object.entries(output).filter(([port]) => !ports.has(port)))

// Most outputs need no count.
export const problemOfSize = (
  output: JsonObject,
  size: number,
  limit: number,
): string | undefined => {
  if (size * mostBytesPerCharacter <= limit) return undefined
  const bytes = encoder.encode(JSON.stringify(output)).length
  return bytes <= limit ? undefined : `the output has ${bytes} bytes; the limit is ${limit}`
}
