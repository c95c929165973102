/**
 * Plain paths: `fetch.body.items[0].id`. They are read here, without the evaluator, and mean what
 * the same text means in JavaScript.
 *
 * Guarantees: only own properties of JSON values are read, and the length of arrays and texts.
 * Reading takes time linear in the path. Leaves out: where the first value comes from.
 */
import { Result } from "effect"
import type { Json } from "../../domain/Json.ts"
import { isJsonObject } from "../../domain/Json.ts"
import { quoted } from "../../domain/Quote.ts"
import { globalNames, isKeyword } from "./Names.ts"
import type { Token } from "./Tokens.ts"
import { textOf } from "./Tokens.ts"

/** What a path begins with: a node, or one of the other names in scope. */
export type PathRoot =
  | { readonly _tag: "Node"; readonly id: string }
  | { readonly _tag: "Input" | "Values" | "Run" | "Secrets" }

/** A step to a property. An optional one ends the path where there is nothing to step from. */
export interface PathStep {
  readonly key: string
  readonly isOptional: boolean
}

/** A path from a value in scope. */
export interface PlainPath {
  readonly root: PathRoot
  readonly steps: ReadonlyArray<PathStep>
}

const ofObject =
  "constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf " +
  "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__"
const ofArray =
  "at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat " +
  "flatMap forEach includes indexOf join keys lastIndexOf map pop push reduce reduceRight " +
  "reverse shift slice some sort splice toReversed toSorted toSpliced unshift values with"
const ofText =
  "anchor at big blink bold charAt charCodeAt codePointAt concat endsWith fixed fontcolor " +
  "fontsize includes indexOf isWellFormed italics lastIndexOf link localeCompare match matchAll " +
  "normalize padEnd padStart repeat replace replaceAll search slice small split startsWith " +
  "strike sub substr substring sup toLocaleLowerCase toLocaleUpperCase toLowerCase toUpperCase " +
  "toWellFormed trim trimEnd trimLeft trimRight trimStart"
const ofNumber = "toExponential toFixed toPrecision"
const ofFunction = "apply arguments bind call caller fileName length lineNumber name prototype"

const setOf = (...texts: ReadonlyArray<string>) => new Set(texts.join(" ").split(" "))

/** Functions that values have from JavaScript. */
const methods = {
  object: setOf(ofObject),
  array: setOf(ofObject, ofArray),
  string: setOf(ofObject, ofText),
  number: setOf(ofObject, ofNumber),
  boolean: setOf(ofObject),
}

/** What any of those functions has besides. */
const functionKeys = setOf(ofObject, ofFunction)

const isMethodOfAny = (key: string): boolean =>
  Object.values(methods).some((names) => names.has(key))

const kindOf = (value: Exclude<Json, null>): keyof typeof methods => {
  if (Array.isArray(value)) return "array"
  return typeof value as "object" | "string" | "number" | "boolean"
}

/** Stands for a function that JavaScript gives to every value of a kind. */
const someFunction = Symbol("function")

const index = /^(?:0|[1-9]\d{0,14})$/

const childOf = (
  value: Exclude<Json, null>,
  key: string,
): Json | typeof someFunction | undefined => {
  if (typeof value === "string") {
    if (key === "length") return value.length
    if (index.test(key)) return value[Number(key)]
  } else if (Array.isArray(value)) {
    if (key === "length") return value.length
    if (index.test(key)) return (value as ReadonlyArray<Json>)[Number(key)]
  } else if (isJsonObject(value) && Object.hasOwn(value, key)) return value[key]
  return methods[kindOf(value)].has(key) ? someFunction : undefined
}

const show = ({ root }: PlainPath, steps: ReadonlyArray<PathStep>): string => {
  const first = root._tag === "Node" ? root.id : root._tag.toLowerCase()
  const rest = steps.map(({ key }) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`))
  return quoted(first + rest.join(""))
}

/**
 * The value at a path below a value, as JavaScript would read it; `undefined` if there is none.
 * Fails with a clause where JavaScript would throw, and where the value is a function.
 */
export const readPath = (
  path: PlainPath,
  from: Json | undefined,
): Result.Result<Json | undefined, string> => {
  let value: Json | typeof someFunction | undefined = from
  for (const [place, { isOptional, key }] of path.steps.entries()) {
    if (value === undefined || value === null) {
      if (isOptional) return Result.succeed(undefined)
      const before = show(path, path.steps.slice(0, place))
      return Result.fail(`${before} is ${value}, so it has no ${quoted(key)}`)
    }
    // Of a function, only keys that none has are read; see `pathOf`.
    value = value === someFunction ? undefined : childOf(value, key)
  }
  if (value === someFunction) return Result.fail(`${show(path, path.steps)} is a function`)
  return Result.succeed(value)
}

/** Says which part of a path has no value, for one that is `undefined`. */
export const missingPart = (path: PlainPath, from: Json | undefined): string => {
  for (let count = 0; count <= path.steps.length; count++) {
    const steps = path.steps.slice(0, count)
    const found = readPath({ ...path, steps }, from)
    if (Result.isFailure(found)) return found.failure
    if (found.success === undefined || found.success === null) {
      return `${show(path, steps)} is ${found.success}`
    }
  }
  return `${show(path, path.steps)} is undefined`
}

const isSign = (token: Token | undefined, text: string) =>
  token?.kind === "sign" && token.text === text

/** The key of the step at a place, and where the next one begins. */
const stepAt = (
  tokens: ReadonlyArray<Token>,
  place: number,
): readonly [PathStep, next: number] | undefined => {
  const isOptional = isSign(tokens[place], "?.")
  const isDotted = isOptional || isSign(tokens[place], ".")
  const name = isDotted ? tokens[place + 1] : undefined
  if (name?.kind === "name") return [{ key: name.text, isOptional }, place + 2]
  const bracket = isOptional ? place + 1 : place
  if (!isSign(tokens[bracket], "[") || !isSign(tokens[bracket + 2], "]")) return undefined
  const inside = tokens[bracket + 1]!
  const key = inside.kind === "number" && index.test(inside.text) ? inside.text : textOf(inside)
  return key === undefined ? undefined : [{ key, isOptional }, bracket + 3]
}

const rootOf = (name: string): PathRoot => {
  switch (name) {
    case "input":
      return { _tag: "Input" }
    case "values":
      return { _tag: "Values" }
    case "run":
      return { _tag: "Run" }
    case "secrets":
      return { _tag: "Secrets" }
    default:
      return { _tag: "Node", id: name }
  }
}

/** The path that tokens are; `undefined` if they are anything else. */
export const pathOf = (tokens: ReadonlyArray<Token>): PlainPath | undefined => {
  const first = tokens[0]
  if (first?.kind !== "name" || isKeyword(first.text) || globalNames.has(first.text)) {
    return undefined
  }
  const steps: Array<PathStep> = []
  for (let place = 1; place < tokens.length;) {
    const step = stepAt(tokens, place)
    if (step === undefined) return undefined
    steps.push(step[0])
    place = step[1]
  }
  // What functions have is not known here.
  const isOfFunction = steps.some(
    ({ key }, place) => place > 0 && functionKeys.has(key) && isMethodOfAny(steps[place - 1]!.key),
  )
  if (isOfFunction) return undefined
  if (first.text !== "nodes") return { root: rootOf(first.text), steps }
  const [node, ...rest] = steps
  return node === undefined ? undefined : { root: { _tag: "Node", id: node.key }, steps: rest }
}
