/**
 * Which node types a module exports.
 *
 * Guarantees: a node type is known by a mark, not by its class, so it may come from another copy of
 * these packages. Leaves out: importing the module.
 */
import type { Executable } from "./NodeTypes.ts"
import { form, mark } from "./NodeTypes.ts"

/** The node types among the exports of a module. */
export interface ExportedTypes {
  readonly types: ReadonlyArray<Executable<unknown>>
  /** True if a type has another form, so this version cannot execute it. */
  readonly hasOtherForm: boolean
}

/** What a node type may be a property of: the result of `defineNode`. */
interface Holder {
  readonly executable?: unknown
}

const formOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[mark] : undefined

/** The node type in an export: the value itself, or its `executable`; `undefined` if none. */
const nodeTypeIn = (value: unknown): unknown => {
  if (formOf(value) !== undefined) return value
  const { executable } = (value ?? {}) as Holder
  return formOf(executable) === undefined ? undefined : executable
}

/** The node types that a module exports, by themselves or in arrays, each once. */
export const exportedTypes = (exports: object): ExportedTypes => {
  const all = Object.values(exports).flatMap((value: unknown) =>
    (Array.isArray(value) ? (value as ReadonlyArray<unknown>) : [value]).map(nodeTypeIn),
  )
  const marked = [...new Set(all)].filter((value) => value !== undefined)
  const types = marked.filter((value) => formOf(value) === form) as ReadonlyArray<unknown>
  return {
    types: types as ReadonlyArray<Executable<unknown>>,
    hasOtherForm: types.length < marked.length,
  }
}
