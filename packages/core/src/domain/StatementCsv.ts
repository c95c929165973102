/**
 * The ledger as a table for spreadsheets: CSV after RFC 4180.
 *
 * Guarantees: one line for each entry. A text that a spreadsheet would take for a formula is
 * escaped. Leaves out: reading the ledger.
 */
import { toNumber } from "./Credits.ts"
import type { NumberedEntry } from "./Ledger.ts"
import { nodeOf } from "./Ledger.ts"
import { format } from "./Timestamp.ts"

const columns = ["number", "at", "kind", "posted", "reserved", "runId", "nodeId", "part"]

const quoted = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** A text from a user, which a spreadsheet must not take for a formula. */
const foreign = (text: string | null): string => {
  if (text === null) return ""
  return quoted(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)
}

/** The first line. */
export const csvHead = `${[...columns, "actor", "reason"].join(",")}\r\n`

/** The line of an entry; credits are plain numbers. */
export const csvLineOf = (entry: NumberedEntry): string => {
  const cells = [
    String(entry.number),
    format(entry.at),
    entry.kind,
    String(toNumber(entry.posted)),
    String(toNumber(entry.reserved)),
    foreign(entry.runId),
    foreign(nodeOf(entry)),
    foreign(entry.part),
    foreign(entry.actor),
    foreign(entry.reason),
  ]
  return `${cells.join(",")}\r\n`
}
