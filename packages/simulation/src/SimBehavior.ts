/**
 * What the handlers of a simulation do: a seed says it for every attempt of every node.
 *
 * Guarantees: it depends on the seed, the run's number, how often it was run again, the node, the
 * attempt and how often that one has been suspended, of a node without effects also on its inputs,
 * and on nothing else; so it stays what it is when a scenario is shortened.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import { signalMessage } from "@millrace/core/domain/Message"
import * as Dice from "./ModelDice.ts"
import { mapTexts, padding } from "./SimFlow.ts"

/** What one call of a handler does. */
export interface Behavior {
  /** How long it works before it comes to its end. */
  readonly millis: number
  readonly end: "return" | "fail" | "die" | "hang" | "suspend" | "garbage"
  /** True where it does not let itself be interrupted. */
  readonly isStubborn: boolean
  readonly output: JsonObject
  readonly retryable: boolean
  readonly retryAfterMillis: number | undefined
  readonly suspendMillis: number
  /** The name of the message that it waits for when it suspends itself. */
  readonly waitsFor: string | undefined
  /** True where no time ends that wait. */
  readonly isEndless: boolean
  /** Whole credits, charged at the beginning and at the end. */
  readonly chargedBefore: number
  readonly chargedAfter: number
  /** Lines logged at the beginning. */
  readonly lines: number
}

/** Which call of which handler. */
export interface Part {
  /** The number of the run in its scenario, and which of its reruns this is. */
  readonly run: string
  readonly nodeId: string
  readonly attempt: number
  /** How often this attempt was suspended. */
  readonly stage: number
  /** What it was given, where that says what it does. */
  readonly given?: string
}

/** How handlers are in general, in percent. */
export interface Mood {
  readonly fail: number
  readonly hang: number
  readonly suspend: number
  readonly slow: number
  readonly isLong: boolean
  /** How many of those that suspend themselves wait for a message. */
  readonly listen: number
  /** How many outputs are so large that they are stored beside their run. */
  readonly large: number
}

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

/** Choices for one thing, which do not depend on how many were made for others. */
export const diceFor = (seed: number, name: string): Dice.Dice =>
  Dice.make(hashOf(`${seed}/${name}`))

const millisOf = (dice: Dice.Dice, { slow }: Mood): number => {
  if (dice.chance(25)) return 0
  if (dice.chance(slow)) return 1_000 + dice.below(15_000)
  return dice.of([1, 5, 20, 50, 100, 1_000]) + dice.below(50)
}

const endOf = (dice: Dice.Dice, mood: Mood, stage: number): Behavior["end"] => {
  if (stage < 2 && dice.chance(mood.suspend)) return "suspend"
  if (dice.chance(mood.hang)) return "hang"
  if (!dice.chance(mood.fail)) return "return"
  return dice.of(["fail", "fail", "fail", "fail", "die", "garbage"])
}

const outputOf = (
  dice: Dice.Dice,
  ports: ReadonlyArray<string>,
  { attempt, nodeId, stage }: Part,
): JsonObject => {
  const taken = ports.filter((port) => dice.chance(port === "output" ? 80 : 45))
  return Object.fromEntries(
    taken.map((port) => [port, dice.chance(10) ? null : `${nodeId}.${port}#${attempt}.${stage}`]),
  )
}

/** Some texts of an output, so long that they are large. */
const enlarged = (output: JsonObject, dice: Dice.Dice, { large }: Mood): JsonObject =>
  large === 0 ? output : mapTexts(output, (text) => (dice.chance(large) ? text + padding : text))

/** What messages are called in a simulation; the second one is a signal. */
export const messageNames = ["go", signalMessage("more")]

const suspensions = [0, 1, 300, 900, 1_000, 1_001, 1_500, 4_000, 12_000, 25_000]

/** What a call does, given the output ports of its node. */
export const behaviorOf = (
  seed: number,
  mood: Mood,
  part: Part,
  ports: ReadonlyArray<string>,
): Behavior => {
  const { attempt, given = "", nodeId, run, stage } = part
  const dice = diceFor(seed, `${run}/${nodeId}/${attempt}/${stage}${given}`)
  const waits = diceFor(seed, `${run}/${nodeId}/${attempt}/${stage} waits`)
  const isListening = waits.chance(mood.listen)
  return {
    millis: millisOf(dice, mood),
    end: endOf(dice, mood, stage),
    isStubborn: dice.chance(15),
    output: enlarged(outputOf(dice, ports, part), diceFor(seed, `${run}/${nodeId} large`), mood),
    retryable: dice.chance(80),
    retryAfterMillis: dice.chance(15) ? dice.of([0, 10, 700, 2_500, 0.5]) : undefined,
    suspendMillis: mood.isLong && dice.chance(50) ? 3_600_000 : dice.of(suspensions),
    waitsFor: isListening ? waits.of(messageNames) : undefined,
    isEndless: isListening && waits.chance(30),
    chargedBefore: dice.chance(20) ? 1 + dice.below(3) : 0,
    chargedAfter: dice.chance(20) ? 1 + dice.below(3) : 0,
    lines: dice.chance(30) ? 1 + dice.below(2) : 0,
  }
}
