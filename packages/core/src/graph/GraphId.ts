/**
 * What a node or an edge may be called.
 *
 * Guarantees: such an id is safe as a key of a plain object, in an address and in a log line.
 * Leaves out: making ids up, which is the client's or the engine's.
 */

const shape = /^[A-Za-z0-9_.:-]{1,128}$/

const reserved: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"])

/** True for 1 to 128 letters, digits or characters of `_ . : -`. */
export const hasIdShape = (text: string): boolean => shape.test(text)

/** True for names that mean something to every JavaScript object; never an id. */
export const isReserved = (text: string): boolean => reserved.has(text)
