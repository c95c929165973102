/**
 * Texts that look like expressions: `{{` in a literal that nothing will fill in.
 *
 * There are no expressions yet, so such a text would be used as it stands, to its author's
 * surprise. Saving takes it, as it takes every draft; a start refuses it. Guarantees: only literals
 * as drawn are judged, never what a run brings; a text itself is not repeated. Leaves out: types
 * that fill texts in themselves; their ports say what they make of them.
 */
import type { Json } from "../../domain/Json.ts"
import { bracketed } from "../../domain/Quote.ts"

/** Places in one literal that are named. */
const shownPlaces = 20

type Place = ReadonlyArray<string | number>

/** Where in a value there are texts with `{{`, in order; keys do not count. */
const placesIn = (root: Json): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  const open: Array<readonly [Json, Place]> = [[root, []]]
  while (open.length > 0 && places.length < shownPlaces) {
    const [value, place] = open.pop()!
    if (typeof value === "string" && value.includes("{{")) places.push(place)
    if (typeof value !== "object" || value === null) continue
    const children: ReadonlyArray<readonly [string | number, Json]> = Array.isArray(value)
      ? [...(value as ReadonlyArray<Json>).entries()]
      : Object.entries(value)
    for (const [key, child] of children.toReversed()) open.push([child, [...place, key]])
  }
  return places
}

const why =
  "holds {{, and nothing is filled in here; make the text with a transform node and bring it by " +
  "an edge"

/** A clause for each text in a literal that looks like an expression, behind its place. */
export const problemsOfTexts = (literal: Json): ReadonlyArray<string> =>
  placesIn(literal).map((place) => (place.length === 0 ? why : `${bracketed(place)}: ${why}`))
