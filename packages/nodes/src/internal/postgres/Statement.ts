/**
 * What a statement is, by its first word.
 *
 * Guarantees: accepts no statement that ends a transaction, changes the session, or copies. Leaves
 * out: what else a statement does; the database says whether it may.
 */

/** Statements that only look. */
const reading: ReadonlyArray<string> = ["select", "with", "values", "table", "show", "explain"]

/** Statements that change something. */
const writing: ReadonlyArray<string> = [
  "insert",
  "update",
  "delete",
  "merge",
  "truncate",
  "create",
  "alter",
  "drop",
  "refresh",
  "call",
  "do",
]

/** Where a comment between `/*` and its end, with those within it, is over. */
const endOfComment = (text: string, start: number): number => {
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  let depth = 0
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    depth += mark[0] === "/*" ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
  return text.length
}

/** The first word, in lower case, after blanks, comments and opening brackets; else `""`. */
export const firstWord = (text: string): string => {
  const skipped = /[\s(]+|--[^\r\n]*/y
  let at = 0
  for (;;) {
    skipped.lastIndex = at
    if (skipped.test(text)) at = skipped.lastIndex
    else if (text.startsWith("/*", at)) at = endOfComment(text, at)
    else break
  }
  const word = /[a-z]+/iy
  word.lastIndex = at
  return word.exec(text)?.[0].toLowerCase() ?? ""
}

const list = (words: ReadonlyArray<string>) => words.map((word) => word.toUpperCase()).join(", ")

/** Why a statement is not sent, as a clause; `undefined` if it is. */
export const problemOfStatement = (text: string, mayWrite: boolean): string | undefined => {
  const word = firstWord(text)
  if (reading.includes(word)) return undefined
  if (!writing.includes(word)) {
    return `expected a statement that begins with one of ${list([...reading, ...writing])}`
  }
  return mayWrite ? undefined : `a statement with ${word.toUpperCase()} needs the mode write`
}
