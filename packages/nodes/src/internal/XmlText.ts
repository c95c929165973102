/**
 * Makes JSON of XML, for the node that parses texts.
 *
 * Guarantees: all values are texts. Entities that a document declares are refused, so that none
 * expands without an end; those of XML itself (`&amp;`, `&#233;`) become their characters. Elements
 * are nested `xmlDepth` deep at most. No element is called like what every object has, such as
 * `constructor`. Leaves out: namespaces, whose prefixes
 * stay a part of the names, comments, and the order of different elements.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import { xmlDepth } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import { XMLParser } from "fast-xml-parser"

const characters: { readonly [name: string]: string } = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
}

const reference = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([\dA-Fa-f]{1,6}));/g

const characterOf = (whole: string, code: number): string => {
  const isCharacter = code > 0 && code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff)
  return isCharacter ? String.fromCodePoint(code) : whole
}

const decode = (text: string): string =>
  text.includes("&")
    ? text.replace(reference, (whole, name?: string, decimal?: string, hex?: string) => {
        if (name !== undefined) return characters[name]!
        const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
        return characterOf(whole, code)
      })
    : text

const entityDecoder = {
  decode,
  addInputEntities: (entities: object): void => {
    const [name] = Object.keys(entities)
    if (name !== undefined) throw new Error(`it declares the entity ${quoted(name)}`)
  },
  setExternalEntities: () => undefined,
  setXmlVersion: () => undefined,
  reset: () => undefined,
}

const refuseInherited = (name: string): never => {
  throw new Error(`an element has the name ${quoted(name)}, which every object has`)
}

/**
 * The parser with its check of the syntax, without which it accepts almost any text. Its types say
 * that this parameter is deprecated, because the check is to move to another package.
 */
interface Strict {
  readonly parse: (text: string, isChecked: true) => unknown
}

const parserOf = (arrays: ReadonlySet<string>): Strict =>
  new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: "@",
    textNodeName: "#text",
    parseTagValue: false,
    ignoreDeclaration: true,
    ignorePiTags: true,
    maxNestedTags: xmlDepth,
    isArray: (name) => arrays.has(name),
    processEntities: true,
    entityDecoder,
    onDangerousProperty: refuseInherited,
  })

/** What the library says, as a clause. */
const clauseOf = (error: unknown): string => {
  const message = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ")
  const [, malformed, line] = /^(.*?)\.?:(\d+):(?:\d+|undefined)$/.exec(message) ?? []
  if (malformed !== undefined) return `no XML: ${malformed} in line ${line}`
  const [, name] = /^\[SECURITY\] Invalid name: "(.*)" is a reserved/.exec(message) ?? []
  const why =
    name !== undefined
      ? `an element has the name ${quoted(name)}, which every object has`
      : message === "Maximum nested tags exceeded"
        ? `its elements are nested more than ${xmlDepth} deep`
        : message
  return `no XML that can be read: ${why}`.slice(0, 300)
}

/**
 * The root element by its name. An element is a text, or an object of its elements, with attributes
 * as `@name` and its text as `#text`; several elements of one name, and those in `arrays`, are an
 * array. Throws an `Error` with a clause.
 */
export const readXml = (text: string, arrays: ReadonlyArray<string>): JsonObject => {
  try {
    return parserOf(new Set(arrays)).parse(text, true) as JsonObject
  } catch (error) {
    throw new Error(clauseOf(error), { cause: error })
  }
}
