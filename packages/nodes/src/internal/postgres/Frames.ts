/**
 * Looks at the messages of a Postgres server before the library reads them.
 *
 * Guarantees: only whole messages are passed on, and a message with an error or a notice ends as it
 * should; the library would read one that does not for ever. Leaves out: what messages mean.
 */

/** The code of the message, and its length. */
const headerBytes = 5

/** No message may be longer: far more than the guard lets through, and less than text makes. */
const longest = 0x1000_0000

const nothing = Buffer.alloc(0)

const malformed = () => new Error("a malformed message")

/** Fields, each a letter and a text with a NUL at its end, and one NUL more. */
const hasFields = (body: Buffer): boolean => {
  let at = 0
  while (at < body.length && body[at] !== 0) {
    const end = body.indexOf(0, at + 1)
    if (end < 0) return false
    at = end + 1
  }
  return at < body.length
}

/** The codes of errors and notices. */
const withFields: ReadonlySet<number | undefined> = new Set([0x45, 0x4e])

/** The messages of one connection. Mutable. */
export class Frames {
  #held: Array<Buffer> = []
  #size = 0
  #needed = headerBytes

  /** The messages that are whole now. Throws for what no Postgres sends. */
  readonly accept = (chunk: Buffer): Uint8Array => {
    this.#held.push(chunk)
    this.#size += chunk.length
    if (this.#size < this.#needed) return nothing
    const all = Buffer.concat(this.#held)
    const end = this.#endOfWhole(all)
    const rest = all.subarray(end)
    this.#held = [rest]
    this.#size = rest.length
    return all.subarray(0, end)
  }

  /** Where the last whole message ends. */
  #endOfWhole(all: Buffer): number {
    let at = 0
    while (all.length - at >= headerBytes) {
      const length = all.readUInt32BE(at + 1)
      if (length < 4 || length > longest) throw malformed()
      const end = at + 1 + length
      if (end > all.length) {
        this.#needed = 1 + length
        return at
      }
      const isWell = !withFields.has(all[at]) || hasFields(all.subarray(at + headerBytes, end))
      if (!isWell) throw malformed()
      at = end
    }
    this.#needed = headerBytes
    return at
  }
}
