/**
 * Names inside of `{{ }}`: which ones may stand at the caret, what they are, and the value that
 * each of them had in a run.
 *
 * Guarantees: total; whatever is typed, there is an answer within time linear in the text before
 * the caret and in what is offered. Leaves out: JavaScript but for the path at the caret, and
 * whether a text is right; the server judges that.
 */
import { isRecord } from "../Document.ts"

/** What a node has as output, by port. */
export interface NamedOutput {
  readonly name: string
  readonly schema: unknown
}

/** What a run knows of the names: outputs of nodes by id, its values, and the node's own input. */
export interface KnownValues {
  readonly outputs: ReadonlyMap<string, unknown>
  readonly values?: unknown
  readonly input?: unknown
  readonly run?: { readonly id: string; readonly startedAt: string | null }
}

/** What expressions of one node can use. */
export interface NameScope {
  /** As a validation has them in `names`: `fetch`, `nodes["a b"]`, `input`, `values`, `run`. */
  readonly names: ReadonlyArray<string>
  readonly outputsOf: (nodeId: string) => ReadonlyArray<NamedOutput>
  /** What the user calls the node. */
  readonly labelOf: (nodeId: string) => string
  /** JSON Schema of `values`. */
  readonly values: unknown
  /** JSON Schema of `input`. */
  readonly input: unknown
  /** Names of secrets that may stand here; nothing where secrets are not allowed. */
  readonly secrets: ReadonlyArray<string>
  /** The last run; absent if there is none. */
  readonly known: KnownValues | undefined
}

/** A name that is offered. */
export interface NameOffer {
  /** What is shown and compared with what is typed. */
  readonly name: string
  /** What takes the place of the text from `from` to `to`. */
  readonly insert: string
  /** Such as `string`; empty if nobody knows. */
  readonly kind: string
  /** What a person calls it, or what it is for. */
  readonly description: string
  /** The value in the last run. */
  readonly value?: { readonly is: unknown }
}

/** Names for a place in a text. */
export interface NameOffers {
  readonly from: number
  readonly to: number
  readonly offers: ReadonlyArray<NameOffer>
}

const bareName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u
const root = String.raw`nodes\[(?:"(?:[^"\\]|\\.)*")\]|[\p{ID_Start}$_][\p{ID_Continue}$]*`
const byName = String.raw`\??\.[\p{ID_Start}$_][\p{ID_Continue}$]*`
const byKey = String.raw`(?:\?\.)?\[(?:\d+|"(?:[^"\\]|\\.)*")\]`
const step = `${byName}|${byKey}`
/** A path that ends at the caret, and the name that is being typed after it. */
const pathAtEnd = new RegExp(
  String.raw`(?<![\p{ID_Continue}$\])"'.])(${root})((?:${step})*?)(\??\.)([\p{ID_Continue}$]*)$`,
  "u",
)
const rootAtEnd = /(?<![\p{ID_Continue}$\])"'.])([\p{ID_Start}$_][\p{ID_Continue}$]*)?$/u
const steps = new RegExp(step, "gu")

/** A path is looked for in so many characters before the caret. */
const lookBehind = 500

/** The most names that are offered at once. */
const offersShown = 100

const parsedText = (text: string): string => {
  try {
    return String(JSON.parse(text))
  } catch {
    return ""
  }
}

/** The keys of a path such as `.body["a b"][0]`. */
const keysOf = (path: string): ReadonlyArray<string> =>
  Array.from(path.matchAll(steps), ([each]) => {
    const text = each.replace(/^\?\./, each.startsWith("?.[") ? "" : ".")
    const inside = text.startsWith("[") ? text.slice(1, -1) : text.slice(1)
    return inside.startsWith('"') ? parsedText(inside) : inside
  })

/** The type that a JSON Schema names, such as `string` or `array`; empty where it names none. */
export const kindOfSchema = (schema: unknown): string => {
  if (!isRecord(schema)) return ""
  const { anyOf, oneOf, type } = schema
  const types = Array.isArray(type) ? type : [type]
  const named = types.filter((each) => typeof each === "string" && each !== "null")
  if (named.length > 0) return named.join(" | ")
  const variants = [anyOf, oneOf].find(Array.isArray)?.map(kindOfSchema)
  return variants?.every((each) => each !== "") === true ? [...new Set(variants)].join(" | ") : ""
}

const descriptionOf = (schema: unknown): string => {
  const said = isRecord(schema) ? schema["description"] : undefined
  return typeof said === "string" ? said : ""
}

/** The schemas of what a schema's value may have below it, by key. */
const propertiesOf = (schema: unknown): ReadonlyMap<string, unknown> => {
  if (!isRecord(schema)) return new Map()
  const { anyOf, oneOf, properties } = schema
  const own = isRecord(properties) ? Object.entries(properties) : []
  const variants = [anyOf, oneOf].filter(Array.isArray).flat()
  return new Map([...variants.flatMap((each) => [...propertiesOf(each)]), ...own])
}

const schemaAt = (schema: unknown, key: string): unknown => {
  const known = propertiesOf(schema).get(key)
  if (known !== undefined || !isRecord(schema)) return known
  const { additionalProperties, items } = schema
  return /^\d+$/.test(key)
    ? items
    : isRecord(additionalProperties)
      ? additionalProperties
      : undefined
}

interface Place {
  readonly schema: unknown
  readonly value?: { readonly is: unknown } | undefined
}

const found = (value: unknown, isKnown: boolean): Place["value"] =>
  isKnown ? { is: value } : undefined

const below = ({ schema, value }: Place, key: string): Place => {
  const is = value?.is
  const isOwn = typeof is === "object" && is !== null && Object.hasOwn(is, key)
  return {
    schema: schemaAt(schema, key),
    value: isOwn ? found((is as Record<string, unknown>)[key], true) : undefined,
  }
}

const schemaOfRun = {
  type: "object",
  properties: { id: { type: "string" }, startedAt: { type: "string", format: "date-time" } },
}

/** The id of the node that a name stands for: `fetch`, or `nodes["a b"]`. */
export const nodeIdOf = (name: string): string =>
  name.startsWith("nodes[") ? parsedText(name.slice(6, -1)) : name

const placeOf = (name: string, scope: NameScope): Place | undefined => {
  const { known, names, secrets } = scope
  if (name === "secrets") {
    const properties = Object.fromEntries(secrets.map((each) => [each, {}]))
    return secrets.length === 0 ? undefined : { schema: { type: "object", properties } }
  }
  if (!names.includes(name)) return undefined
  switch (name) {
    case "input":
      return { schema: scope.input, value: found(known?.input, known?.input !== undefined) }
    case "values":
      return { schema: scope.values, value: found(known?.values, known?.values !== undefined) }
    case "run":
      return { schema: schemaOfRun, value: found(known?.run, known?.run !== undefined) }
  }
  const nodeId = nodeIdOf(name)
  const ports = scope.outputsOf(nodeId).map(({ name: port, schema }) => [port, schema] as const)
  return {
    schema: { type: "object", properties: Object.fromEntries(ports) },
    value: found(known?.outputs.get(nodeId), known?.outputs.has(nodeId) === true),
  }
}

const offered = (place: Place, name: string, insert: string, label?: string): NameOffer => ({
  name,
  insert,
  kind: kindOfSchema(place.schema),
  description: label ?? descriptionOf(place.schema),
  ...(place.value === undefined ? {} : { value: place.value }),
})

const rootOffers = (scope: NameScope): ReadonlyArray<NameOffer> =>
  [...scope.names, ...(scope.secrets.length > 0 ? ["secrets"] : [])].flatMap((name) => {
    const place = placeOf(name, scope)
    if (place === undefined) return []
    const isNode = !["input", "values", "run", "secrets"].includes(name)
    const label = isNode ? scope.labelOf(nodeIdOf(name)) : ""
    return offered(place, name, name, label === name ? "" : label)
  })

/** What stands below a place: what its schema says, and what it had in the last run. */
const childOffers = (place: Place, dot: string): ReadonlyArray<NameOffer> => {
  const is = place.value?.is
  const keys = [...propertiesOf(place.schema).keys(), ...(isRecord(is) ? Object.keys(is) : [])]
  const isArray = Array.isArray(is) || kindOfSchema(place.schema) === "array"
  const hasLength = isArray || typeof is === "string" || kindOfSchema(place.schema) === "string"
  const optional = dot === "?." ? dot : ""
  const named = [...new Set(keys)].map((key) => {
    const insert = bareName.test(key) ? `${dot}${key}` : `${optional}[${JSON.stringify(key)}]`
    return offered(below(place, key), key, insert)
  })
  const first = isArray ? [offered(below(place, "0"), "[0]", `${optional}[0]`)] : []
  const length = { schema: { type: "number" }, value: lengthOf(is) }
  return [...first, ...named, ...(hasLength ? [offered(length, "length", `${dot}length`)] : [])]
}

const lengthOf = (value: unknown): Place["value"] =>
  Array.isArray(value) || typeof value === "string" ? { is: value.length } : undefined

/** Those that begin as what is typed, and after them those that contain it. */
const matching = (offers: ReadonlyArray<NameOffer>, typed: string): ReadonlyArray<NameOffer> => {
  const wanted = typed.toLowerCase()
  const rank = ({ description, name }: NameOffer): number => {
    if (name.toLowerCase().startsWith(wanted)) return 0
    return name.toLowerCase().includes(wanted)
      ? 1
      : description.toLowerCase().includes(wanted)
        ? 2
        : 3
  }
  const ranked = offers.map((offer) => ({ offer, at: rank(offer) })).filter(({ at }) => at < 3)
  return ranked
    .toSorted((left, right) => left.at - right.at)
    .slice(0, offersShown)
    .map(({ offer }) => offer)
}

/** Where the expression around the caret begins, after its `{{`; `undefined` outside of any. */
const expressionAt = (text: string, caret: number): number | undefined => {
  const open = text.lastIndexOf("{{", caret - 2)
  if (open < 0 || caret < open + 2) return undefined
  const close = text.indexOf("}}", open + 2)
  return close >= 0 && close < caret ? undefined : open + 2
}

/** The rest of the word in which the caret stands. */
const wordAfter = (text: string, caret: number): number =>
  /^[\p{ID_Continue}$]*/u.exec(text.slice(caret, caret + 100))![0].length

/**
 * The names that may stand at the caret. Outside of an expression there are none, unless they were
 * asked for; what is inserted then is a whole expression.
 */
export const offersAt = (
  text: string,
  caret: number,
  scope: NameScope,
  isAsked = false,
): NameOffers | undefined => {
  const begin = expressionAt(text, caret)
  if (begin === undefined) {
    if (!isAsked) return undefined
    const offers = rootOffers(scope).map((offer) => ({ ...offer, insert: `{{ ${offer.insert} }}` }))
    return { from: caret, to: caret, offers: offers.slice(0, offersShown) }
  }
  const before = text.slice(Math.max(begin, caret - lookBehind), caret)
  const to = caret + wordAfter(text, caret)
  const path = pathAtEnd.exec(before)
  if (path !== null) {
    const [, name = "", between = "", dot = "", typed = ""] = path
    const start = placeOf(name, scope)
    if (start === undefined) return undefined
    const place = keysOf(between).reduce(below, start)
    const from = caret - typed.length - dot.length
    return { from, to, offers: matching(childOffers(place, dot), typed) }
  }
  const typed = rootAtEnd.exec(before)
  if (typed === null) return undefined
  const word = typed[1] ?? ""
  return { from: caret - word.length, to, offers: matching(rootOffers(scope), word) }
}

/** A text with an offer taken, and where the caret stands then. An open expression is closed. */
export const withOffer = (
  text: string,
  { from, to }: Pick<NameOffers, "from" | "to">,
  { insert }: Pick<NameOffer, "insert">,
): { readonly text: string; readonly caret: number } => {
  const after = text.slice(to)
  const isWhole = insert.startsWith("{{")
  const close = after.indexOf("}}")
  const next = after.indexOf("{{")
  const isClosed = isWhole || (close >= 0 && (next < 0 || close < next))
  const before = text.slice(0, from)
  const blank = !isWhole && before.endsWith("{{") ? " " : ""
  const caret = before.length + blank.length + insert.length - (isWhole ? 3 : 0)
  return { text: `${before}${blank}${insert}${isClosed ? "" : " }}"}${after}`, caret }
}

/** A value in one line of at most so many characters; never more work than that takes. */
export const shortText = (value: unknown, length = 80): string => {
  let left = length
  const write = (each: unknown): string => {
    if (left <= 0) return ""
    if (typeof each !== "object" || each === null) {
      const text = typeof each === "string" ? JSON.stringify(each.slice(0, left)) : String(each)
      left -= text.length
      return text
    }
    const parts: Array<string> = []
    const isArray = Array.isArray(each)
    for (const key in each) {
      if (left <= 0) break
      const name = isArray ? "" : `${key}: `
      left -= name.length + 2
      parts.push(name + write((each as Record<string, unknown>)[key]))
    }
    return isArray ? `[${parts.join(", ")}]` : `{ ${parts.join(", ")} }`
  }
  const text = write(value)
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
