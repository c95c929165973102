/**
 * Bodies by chance: made from their schema, and then spoilt, as a value or as text.
 */
import type { Dice } from "./FuzzDice.ts"
import type { Document, JsonSchema } from "./Operations.ts"
import { resolve } from "./Operations.ts"

/** What a request may refer to. */
export interface Known {
  readonly workflows: ReadonlyArray<string>
  readonly runs: ReadonlyArray<string>
  readonly nodeTypes: ReadonlyArray<string>
}

/** Texts that somebody may be careless about. */
export const oddTexts: ReadonlyArray<string> = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udfffx",
  "__proto__",
  "constructor",
  "%00",
  "'; DROP TABLE runs; --",
  "%_\\",
  "../../etc/passwd",
  "\r\nx-injected: 1",
  "😀".repeat(70),
  "x".repeat(121),
  "x".repeat(5_001),
  "javascript:alert(1)",
  "http://127.0.0.1/",
  "NaN",
  "wf_",
  "run_",
  "\u2028\u202e\ufeff",
]

const oddNumbers: ReadonlyArray<number> = [
  0,
  -0,
  -1,
  1,
  0.5,
  1e21,
  -1e308,
  5e-324,
  2 ** 31,
  2 ** 53,
  Number.MAX_SAFE_INTEGER,
  2 ** 63,
]

const deep = (levels: number): unknown =>
  Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1)

/** A value that nobody asked for. */
const oddValue = (dice: Dice): unknown => {
  switch (dice.below(9)) {
    case 0:
      return null
    case 1:
      return dice.chance(50)
    case 2:
      return dice.pick(oddNumbers)
    case 3:
      return []
    case 4:
      return {}
    case 5:
      return deep(dice.below(100))
    case 6:
      return Array.from({ length: dice.below(60) }, () => dice.pick(oddTexts))
    case 7:
      return JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}')
    default:
      return dice.pick(oddTexts)
  }
}

const picture = "data:image/png;base64,iVBORw0KGgo="

const named: Readonly<Record<string, (dice: Dice, known: Known) => unknown>> = {
  workflowId: (dice, { workflows }) => dice.pick(workflows),
  ids: (dice, { runs }) => Array.from({ length: dice.below(5) }, () => dice.pick(runs)),
  nodeType: (dice, { nodeTypes }) => dice.pick(nodeTypes),
  type: (dice, { nodeTypes }) => dice.pick(nodeTypes),
  id: (dice) => `n${dice.below(4)}`,
  source: (dice) => dice.pick(["api", "ui", "n0", "n1", "n2"]),
  target: (dice) => `n${dice.below(4)}`,
  sourceHandle: (dice) => dice.pick([null, "", "output", "value", "error"]),
  targetHandle: (dice) => dice.pick([null, "", "input", "text", "value"]),
  inputs: (dice) => ({ [dice.pick(["text", "input", "value"])]: oddValue(dice) }),
  data: (dice) => ({ inputs: { [dice.pick(["text", "input", "value"])]: oddValue(dice) } }),
  mode: (dice) => dice.pick(["length", "words", "nope"]),
  thumbnailUrl: (dice) => dice.pick([null, "https://example.com/a.png", picture, "ftp://x"]),
  url: () => "https://example.com/hook",
}

/** A value of this form, more or less. */
export const valueOf = (
  document: Document,
  schema: JsonSchema,
  dice: Dice,
  known: Known,
): unknown => {
  const { anyOf, items, properties, required = [], type, ...rest } = resolve(document, schema)
  if (rest.enum !== undefined) return dice.pick(rest.enum)
  if (anyOf !== undefined) return valueOf(document, dice.pick(anyOf), dice, known)
  switch (type) {
    case "object": {
      const wanted = Object.entries(properties ?? {}).filter(
        ([key]) => required.includes(key) || dice.chance(60),
      )
      return Object.fromEntries(
        wanted.map(([key, of]) => [
          key,
          (named[key] ?? (() => valueOf(document, of, dice, known)))(dice, known),
        ]),
      )
    }
    case "array":
      return Array.from({ length: dice.below(4) }, () =>
        valueOf(document, items ?? {}, dice, known),
      )
    case "string":
      return dice.pick(["Name", "hello", "ä"])
    case "number":
    case "integer":
      return dice.below(5)
    case "boolean":
      return dice.chance(50)
    case "null":
      return null
    default:
      return oddValue(dice)
  }
}

/** The same value with something spoilt in it. */
const spoil = (value: unknown, dice: Dice): unknown => {
  if (typeof value !== "object" || value === null || dice.chance(20)) return oddValue(dice)
  if (Array.isArray(value)) {
    if (value.length === 0 || dice.chance(20)) return [...value, oddValue(dice)]
    const at = dice.below(value.length)
    return value.map((item, index) => (index === at ? spoil(item, dice) : item))
  }
  const entries = Object.entries(value)
  if (entries.length === 0 || dice.chance(15)) {
    return Object.fromEntries([...entries, [dice.pick(oddTexts), oddValue(dice)]])
  }
  const at = dice.below(entries.length)
  if (dice.chance(15)) return Object.fromEntries(entries.filter((_, index) => index !== at))
  return Object.fromEntries(
    entries.map(([key, item], index) => [key, index === at ? spoil(item, dice) : item]),
  )
}

/** Text that is spoilt as text. */
const spoilText = (text: string, dice: Dice): string | Uint8Array<ArrayBuffer> => {
  const at = dice.below(text.length + 1)
  switch (dice.below(7)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + dice.pick(["}", '"', ",", "\\", "1e999", "[", "\0", "//"]) + text
    case 2:
      return text.replace(/\d+/, dice.pick(["1e400", "-1e400", "0x10", "01", "1.", "NaN", "+1"]))
    case 3: {
      const bytes = new Uint8Array([...new TextEncoder().encode(text), 0])
      bytes[dice.below(bytes.length)] = dice.pick([0xff, 0xc0, 0xed, 0x00, 0x80])
      return bytes
    }
    case 4:
      return `\ufeff${text}`
    case 5:
      return `${text}${text}`
    default:
      return text.replace(
        "{",
        `{"__proto__":{"polluted":1},"x":${"[".repeat(at)}${"]".repeat(at)},`,
      )
  }
}

/** A body for a form: as it should be, spoilt as a value, or spoilt as text. */
export const bodyOf = (
  document: Document,
  schema: JsonSchema,
  dice: Dice,
  known: Known,
): string | Uint8Array<ArrayBuffer> => {
  let value = valueOf(document, schema, dice, known)
  if (dice.chance(50)) {
    for (let times = dice.below(3); times >= 0; times--) value = spoil(value, dice)
  }
  const text = JSON.stringify(value) ?? ""
  return dice.chance(15) ? spoilText(text, dice) : text
}
