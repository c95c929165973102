/**
 * Which handlers of a process are in progress, in memory that two threads share. The event loop
 * writes it. The thread that keeps the lease reads it while the event loop is blocked.
 *
 * Guarantees: writing takes less than a microsecond per handler, and nothing here fails. A reader
 * may see old values while the event loop runs. Leaves out: the names of further handlers when all
 * places are taken; these are only counted.
 */
import { type CalledNode, describeNode } from "@millrace/core/domain/CalledNode"
import type { RunId } from "@millrace/core/domain/Id"
import type { Watchdog } from "@millrace/core/ports/Watchdog"

/** How many handlers are kept by name. */
const places = 256

/** Units of UTF-16 of the names of one; longer ones are cut. */
const placeUnits = 256

/** The memory starts with: how often the loop ran, who has control, how many are in progress. */
const beats = 0
const onStack = 1
const inProgress = 2
const firstOrder = 3
const firstLength = firstOrder + places
const numbers = firstLength + places

/** A new board. A thread can be given it. */
export const make = (): SharedArrayBuffer =>
  new SharedArrayBuffer(
    numbers * Int32Array.BYTES_PER_ELEMENT + places * placeUnits * Uint16Array.BYTES_PER_ELEMENT,
  )

const numbersOf = (board: SharedArrayBuffer) => new Int32Array(board, 0, numbers)

const textsOf = (board: SharedArrayBuffer) =>
  new Uint16Array(board, numbers * Int32Array.BYTES_PER_ELEMENT)

/** Records that the event loop runs. */
export const beat = (board: SharedArrayBuffer): void => {
  Atomics.add(numbersOf(board), beats, 1)
}

/** A number that changes with every {@link beat}. */
export const beatsOf = (board: SharedArrayBuffer): number => Atomics.load(numbersOf(board), beats)

/** Writes handlers to a board. For the event loop. */
export const writer = (board: SharedArrayBuffer): Watchdog => {
  const header = numbersOf(board)
  const texts = textsOf(board)
  const free = Array.from({ length: places }, (_, index) => places - index)
  let order = 0
  return {
    began: (node) => {
      Atomics.add(header, inProgress, 1)
      const place = free.pop() ?? 0
      if (place === 0) return place
      const line = `${node.runId}\n${node.nodeType}\n${node.nodeId}`
      const length = Math.min(line.length, placeUnits)
      const from = (place - 1) * placeUnits
      // Encoding the text as bytes would take longer than all the rest.
      for (let unit = 0; unit < length; unit++) texts[from + unit] = line.charCodeAt(unit)
      Atomics.store(header, firstLength + place - 1, length)
      return place
    },
    entered: (place) => {
      if (place === 0) return
      order = (order + 1) | 0
      Atomics.store(header, firstOrder + place - 1, order)
      Atomics.store(header, onStack, place)
    },
    left: () => void Atomics.store(header, onStack, 0),
    ended: (place) => {
      Atomics.sub(header, inProgress, 1)
      if (place === 0) return
      Atomics.store(header, firstLength + place - 1, 0)
      free.push(place)
    },
  }
}

/** What a board tells about a blocked event loop. */
export interface Explained {
  /** A clause that names the handler in control; if none is, the handlers in progress. */
  readonly clause: string
  /** The run whose handler has control; `undefined` if unknown. */
  readonly run: RunId | undefined
}

/** Explains why the event loop is blocked. Names at most `namesShown` handlers in progress. */
export const explain = (board: SharedArrayBuffer, namesShown: number): Explained => {
  const header = numbersOf(board)
  const texts = textsOf(board)
  const lengthOf = (place: number) => Atomics.load(header, firstLength + place - 1)
  const handlerOf = (place: number): CalledNode => {
    const from = (place - 1) * placeUnits
    const line = String.fromCharCode(...texts.subarray(from, from + lengthOf(place)))
    const [runId = "", nodeType = "", ...rest] = line.split("\n")
    return { runId: runId as RunId, nodeType, nodeId: rest.join("\n") }
  }
  const stack = Atomics.load(header, onStack)
  if (stack !== 0) {
    const handler = handlerOf(stack)
    return { run: handler.runId, clause: `${describeNode(handler)} gives no control back` }
  }
  const count = Atomics.load(header, inProgress)
  if (count === 0) return { run: undefined, clause: "no node is in progress" }
  const last = Array.from({ length: places }, (_, index) => index + 1)
    .filter((place) => lengthOf(place) > 0)
    .toSorted((a, b) => header[firstOrder + b - 1]! - header[firstOrder + a - 1]!)
    .slice(0, namesShown)
  const more = count > last.length ? `, and ${count - last.length} more` : ""
  const names = last.map((place) => describeNode(handlerOf(place))).join(", ")
  return { run: undefined, clause: `in progress are ${names}${more}` }
}
