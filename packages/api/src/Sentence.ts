/**
 * One sentence for everything that is wrong with a value: `nodes[3].position.x: expected a number;
 * name: is missing`.
 *
 * Guarantees: names every place, at most {@link problemsShown} of them; never repeats a value, so
 * that a secret in a wrong field does not come back. Leaves out: problems of a graph, which the
 * engine words itself.
 */
import { problemsShown } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import type { SchemaAST } from "effect"
import { SchemaIssue } from "effect"

type Path = ReadonlyArray<PropertyKey>

const nameOf = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "String":
      return "a string"
    case "Number":
      return "a number"
    case "Boolean":
      return "true or false"
    case "Null":
      return "null"
    case "Arrays":
      return "an array"
    case "Objects":
      return "an object"
    case "Literal":
      return JSON.stringify(ast.literal)
    case "Union":
      return objectOfSome(ast.types) ?? alternatives([...new Set(ast.types.map(nameOf))])
    default:
      return "another value"
  }
}

const alternatives = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`

const literalOf = (ast: SchemaAST.AST, name: PropertyKey) => {
  if (ast._tag !== "Objects") return undefined
  const field = ast.propertySignatures.find((each) => each.name === name)
  return field?.type._tag === "Literal" ? field.type : undefined
}

/** Objects that one field tells apart: `an object whose type is "a" or "b"`. */
const objectOfSome = (types: ReadonlyArray<SchemaAST.AST>): string | undefined => {
  const [first] = types
  if (first?._tag !== "Objects") return undefined
  for (const { name } of first.propertySignatures) {
    const literals = types.map((type) => literalOf(type, name))
    if (literals.some((each) => each === undefined)) continue
    const values = alternatives(literals.map((each) => nameOf(each!)))
    return `an object whose ${String(name)} is ${values}`
  }
  return undefined
}

const keyText = (key: string, first: boolean): string => {
  if (!/^[\w-]{1,64}$/.test(key)) return `[${quoted(key)}]`
  return first ? key : `.${key}`
}

/** A path as people write it: `nodes[3].data`. */
const pathText = (path: Path): string =>
  path
    .map((part, index) =>
      typeof part === "number" ? `[${part}]` : keyText(String(part), index === 0),
    )
    .join("")

/** The place of a value within another one; `rootName` stands for the whole. */
export const placeOf = (path: Path, rootName: string): string =>
  path.length === 0 ? rootName : pathText(path)

const expectation = (text: string): string =>
  text.replace(/^Expected /, "expected ").replace("a value with a length", "a length")

const leafClause = (issue: SchemaIssue.Leaf): string => {
  if (issue._tag === "MissingKey") return "is missing"
  if (issue._tag === "InvalidType" && issue.ast.annotations?.["message"] === undefined) {
    return `expected ${nameOf(issue.ast)}`
  }
  return expectation(SchemaIssue.defaultLeafHook(issue))
}

/** The clause of a failed check: its own, else that of the value inside; if there is any. */
const checkClause = ({ filter, issue }: SchemaIssue.Filter): string | undefined => {
  const inner = issue._tag === "InvalidValue" ? issue.annotations : undefined
  const message = filter.annotations?.["message"] ?? inner?.["message"]
  if (typeof message === "string") return expectation(message)
  if (issue._tag !== "InvalidValue") return undefined
  const expected = inner?.["expected"] ?? filter.annotations?.["expected"]
  return typeof expected === "string" ? expectation(`Expected ${expected}`) : undefined
}

/** Gathers a clause for every problem below an issue. */
const clausesOf = (root: SchemaIssue.Issue, rootName: string): ReadonlyArray<string> => {
  const clauses: Array<string> = []
  /** `known` is what a failed check says of everything below it. */
  const visit = (issue: SchemaIssue.Issue, path: Path, known?: string): void => {
    switch (issue._tag) {
      case "Filter":
        return visit(issue.issue, path, known ?? checkClause(issue))
      case "Encoding":
        return visit(issue.issue, path, known)
      case "Pointer":
        return visit(issue.issue, [...path, ...issue.path], known)
      case "Composite":
        return issue.issues.forEach((each) => visit(each, path, known))
      case "AnyOf":
        if (issue.issues.length > 0) return issue.issues.forEach((each) => visit(each, path, known))
        clauses.push(`${place(path)}: ${known ?? `expected ${nameOf(issue.ast)}`}`)
        return
      default:
        clauses.push(`${place(path)}: ${known ?? leafClause(issue)}`)
    }
  }
  const place = (path: Path) => placeOf(path, rootName)
  visit(root, [])
  return clauses
}

/**
 * Says what is wrong: every problem with its place, joined by `; `, beyond {@link problemsShown}
 * only counted. `rootName` is the place of a problem with the whole value.
 */
export const sentenceOf = (issue: SchemaIssue.Issue, rootName: string): string => {
  const clauses = clausesOf(issue, rootName)
  const shown = clauses.slice(0, problemsShown).join("; ")
  const more = clauses.length - problemsShown
  return more > 0 ? `${shown}; and ${more} more` : shown
}
