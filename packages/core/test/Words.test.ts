/**
 * The words of the project: every word of an exported name is one that a stranger knows, from
 * English, TypeScript, Effect or the glossary, and words that strangers stumbled over do not come
 * back.
 *
 * Reads names as text. Leaves out: what prose says; people read that.
 */
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { describe, expect, it } from "vitest"
import { everything, offences, root, sources } from "./Sources.ts"
import { known } from "./Vocabulary.ts"

const glossary = readFileSync(join(root, "docs", "glossary.md"), "utf8")

/** The words that the glossary explains, in singular and in lower case. */
const explained = [...glossary.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, words]) =>
  words!.toLowerCase().split(/[\s,-]+/),
)

/** What strangers stumbled over: a metaphor, or a word that means something else elsewhere. */
const retired = new Set(
  `abandon astray barred birth births born cargo calm census circumstances courier deed deeds desk
  door envelope errand dueNow luck mailbox manner mover nowhere nudge paint poke purse purses seize
  seized stray strays twin twins unborn workshop wronged`.split(/\s+/),
)

const wordsOf = (name: string): ReadonlyArray<string> =>
  name
    .split(/[_$.-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((word) => word.toLowerCase())
    .filter((word) => word !== "")

/** Forms of a word that mean the same word. */
const stemsOf = (word: string): ReadonlyArray<string> => [
  word,
  word.replace(/ies$/, "y"),
  word.replace(/s$/, ""),
  word.replace(/es$/, ""),
  word.replace(/e?d$/, ""),
  word.replace(/d$/, ""),
  word.replace(/ing$/, ""),
  word.replace(/ing$/, "e"),
  word.replace(/(.)\1(ed|ing)$/, "$1"),
]

const published = sources.filter(
  ({ path }) => !/^packages\/(?:conformance|simulation)\//.test(path),
)

const exported = published.flatMap(({ code, path }) =>
  Array.from(
    code.matchAll(/^export (?:abstract )?(?:const|class|interface|type|function) (\w+)/gm),
    ([, name]) => ({ path, name: name! }),
  ),
)

describe("Words", () => {
  it("of exported names and of files are in the vocabulary or the glossary", () => {
    const words = new Set([...known, ...explained])
    const isKnown = (word: string) =>
      /^[a-z]?\d*$/.test(word) || stemsOf(word).some((stem) => words.has(stem))
    const files = published.map(({ path }) => ({ path, name: basename(path, ".ts") }))
    const unknown = [...exported, ...files].flatMap(({ name, path }) =>
      wordsOf(name)
        .filter((word) => !isKnown(word))
        .map((word) => `${path}: "${word}" in ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it("that strangers stumbled over are in no name of a file and no exported name", () => {
    const files = everything.map(({ path }) => ({ path, name: basename(path).split(".")[0]! }))
    const found = [...exported, ...files].filter(({ name }) =>
      wordsOf(name).some((word) => retired.has(word)),
    )
    expect(found).toEqual([])
  })

  it("that strangers stumbled over are in no message", () => {
    const texts = /"[^"\n]* [^"\n]*"|`[^`\n]* [^`\n]*`/g
    const found = offences(published, texts, (text) => text).filter((each) =>
      each.split(/[^A-Za-z]+/).some((word) => retired.has(word.toLowerCase())),
    )
    expect(found).toEqual([])
  })

  it("of the glossary are sixty at most, each in a sentence", () => {
    const rows = [...glossary.matchAll(/^\| (?!Word|-)([^|]+) \| ([^|]+) \|$/gm)]
    expect(rows.length).toBeGreaterThan(40)
    expect(rows.length).toBeLessThanOrEqual(60)
    expect(rows.filter(([, , meaning]) => !/^[A-Z].*\.$/.test(meaning!.trim()))).toEqual([])
  })
})
