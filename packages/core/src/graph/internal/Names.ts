/**
 * The names that a JavaScript expression uses: those of nodes and of everything else in scope.
 *
 * Guarantees: every name that is neither a property, a key nor a keyword is found. A name that the
 * expression itself declares anywhere counts as its own everywhere, so nobody is told that it is
 * unknown. Leaves out: the scopes within an expression.
 */
import type { Token } from "./Tokens.ts"
import { textOf } from "./Tokens.ts"

/** A name in an expression. */
export interface Reference {
  readonly name: string
  /** True if it stands in `nodes["name"]` or `nodes.name`. */
  readonly isNode: boolean
  /** True if the expression may mean a variable of its own. */
  readonly isOwn: boolean
  /** Where it begins, in characters from the beginning of the whole text. */
  readonly at: number
  /** The key that is read of it; absent where that is computed, or nothing is read. */
  readonly key?: Key
}

/** A key as it is written. */
interface Key {
  readonly name: string
  /** Where it begins, in characters from the beginning of the whole text. */
  readonly at: number
}

/** Names that expressions have besides nodes. `nodes` holds the nodes by id. */
export const roots: ReadonlySet<string> = new Set(["input", "nodes", "run", "secrets", "values"])

/** What JavaScript itself brings. A node of such a name is reached by `nodes` only. */
export const globalNames: ReadonlySet<string> = new Set(
  (
    "Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError " +
    "Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array " +
    "JSON Map Math NaN Number Object RangeError ReferenceError RegExp Set String Symbol " +
    "SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap " +
    "WeakSet decodeURI decodeURIComponent encodeURI encodeURIComponent escape globalThis " +
    "isFinite isNaN parseFloat parseInt undefined unescape"
  ).split(" "),
)

const keywords: ReadonlySet<string> = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum " +
    "eval export extends false finally for function if implements import in instanceof interface " +
    "let new null package private protected public return static super switch this throw true " +
    "try typeof var void while with yield"
  ).split(" "),
)

/** True for a name that may stand alone for a node. */
export const isBareName = (name: string): boolean =>
  /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(name) &&
  !keywords.has(name) &&
  !globalNames.has(name) &&
  !roots.has(name)

/** True for a word that JavaScript keeps for itself. */
export const isKeyword = (name: string): boolean => keywords.has(name)

const isSign = (token: Token | undefined, ...texts: ReadonlyArray<string>): boolean =>
  token?.kind === "sign" && texts.includes(token.text)

/** The places between two tokens. */
function* within(from: number, to: number): Iterable<number> {
  for (let place = from + 1; place < to; place++) yield place
}

/** What `const`, `let` or `var` declares; names behind a comma in a value count, too. */
function* declarators(tokens: ReadonlyArray<Token>, keyword: number): Iterable<number> {
  let place = keyword + 1
  while (place < tokens.length && !isSign(tokens[place], ";", ")", "}")) {
    const { partner } = tokens[place]!
    const begins = place === keyword + 1 || isSign(tokens[place - 1], ",")
    if (begins) yield* partner > place ? within(place, partner) : [place]
    place = Math.max(place, partner) + 1
  }
}

/** What `(` or a name behind `function`, `class`, `catch` or before `=>` declares, generously. */
const declaredAt = (tokens: ReadonlyArray<Token>, place: number): Iterable<number> => {
  const token = tokens[place]!
  if (token.kind === "name" && isSign(tokens[place + 1], "=>")) return [place]
  if (isSign(token, "(")) {
    const isArrow = isSign(tokens[token.partner + 1], "=>")
    const isFunction = [tokens[place - 1], tokens[place - 2]].some(
      (each) => each?.kind === "name" && ["function", "catch"].includes(each.text),
    )
    return isArrow || isFunction ? within(place, token.partner) : []
  }
  if (token.kind !== "name") return []
  if (token.text === "function" || token.text === "class") return [place + 1]
  if (!["const", "let", "var"].includes(token.text)) return []
  return declarators(tokens, place)
}

const declaredIn = (tokens: ReadonlyArray<Token>): ReadonlySet<string> => {
  // Generous: words that mean something of their own at some places.
  const names = new Set(["async", "of"])
  for (const place of tokens.keys()) {
    for (const each of declaredAt(tokens, place)) {
      const token = tokens[each]
      if (token?.kind === "name") names.add(token.text)
    }
  }
  return names
}

/** The bracket around each token, as its place; -1 for none. */
const bracketsOf = (tokens: ReadonlyArray<Token>): ReadonlyArray<number> => {
  const open: Array<number> = [-1]
  return tokens.map(({ partner }, place) => {
    if (partner >= 0 && partner < place) open.pop()
    const around = open.at(-1)!
    if (partner > place) open.push(place)
    return around
  })
}

/** True for the key of an entry or a method in braces. */
const isKey = (tokens: ReadonlyArray<Token>, place: number, around: number): boolean => {
  if (!isSign(tokens[around], "{") || !isSign(tokens[place - 1], "{", ",")) return false
  const next = tokens[place + 1]
  return isSign(next, ":") || (isSign(next, "(") && isSign(tokens[next!.partner + 1], "{"))
}

/** The key in `["key"]` or `.key` behind a place, and the place where that ends. */
const keyAfter = (
  tokens: ReadonlyArray<Token>,
  place: number,
): (Key & { readonly end: number }) | undefined => {
  const next = tokens[place + 1]
  const key = tokens[place + 2]
  if (isSign(next, ".", "?.") && key?.kind === "name") {
    return { name: key.text, at: key.at, end: place + 2 }
  }
  const bracket = isSign(next, "?.") ? place + 2 : place + 1
  if (!isSign(tokens[bracket], "[") || tokens[bracket]!.partner !== bracket + 2) return undefined
  const inside = tokens[bracket + 1]!
  const name = textOf(inside)
  return name === undefined ? undefined : { name, at: inside.at, end: bracket + 2 }
}

const referenceAt = (
  tokens: ReadonlyArray<Token>,
  place: number,
  declared: ReadonlySet<string>,
): Reference => {
  const { at, text } = tokens[place]!
  const node = text === "nodes" ? keyAfter(tokens, place) : undefined
  const read = keyAfter(tokens, node?.end ?? place)
  const key = read === undefined ? {} : { key: { name: read.name, at: read.at } }
  return node === undefined
    ? { name: text, isNode: false, isOwn: declared.has(text), at, ...key }
    : { name: node.name, isNode: true, isOwn: false, at, ...key }
}

/** Every name of an expression that somebody else has to know, in order. */
export const referencesIn = (tokens: ReadonlyArray<Token>): ReadonlyArray<Reference> => {
  const declared = declaredIn(tokens)
  const around = bracketsOf(tokens)
  const references: Array<Reference> = []
  for (const [place, { kind, text }] of tokens.entries()) {
    if (kind !== "name" || keywords.has(text)) continue
    if (isSign(tokens[place - 1], ".", "?.") || isKey(tokens, place, around[place]!)) continue
    references.push(referenceAt(tokens, place, declared))
  }
  return references
}
