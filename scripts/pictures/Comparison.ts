/**
 * Compares pictures with recorded ones.
 *
 * Guarantees: a picture without a record, a record without a picture and another size are
 * differences. Leaves out: where the records come from.
 */
import pixelmatch from "pixelmatch"
import { PNG } from "pngjs"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { withPalette } from "./Palette.ts"
import type { Shot } from "./Shots.ts"

const recorded = join(import.meta.dirname, "recorded")
const docs = resolve(import.meta.dirname, "../../docs/pictures")

/** The pictures that the README shows, too. */
const shown: Readonly<Record<string, string>> = {
  "editor-light": "editor",
  "run-completed-light": "run",
}

/** Where a picture is recorded. */
const placeOf = ({ look, name }: Shot): string => {
  const whole = `${name}-${look}`
  const own = shown[whole]
  return own === undefined ? join(recorded, `${whole}.png`) : join(docs, `${own}.png`)
}

const namesIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []

/** All records. */
const places = () => [...namesIn(recorded), ...namesIn(docs)]

/** Records pictures. What is none of all the pictures is removed. */
export const write = (shots: ReadonlyArray<Shot>, all?: ReadonlyArray<Shot>): void => {
  mkdirSync(recorded, { recursive: true })
  for (const shot of shots) writeFileSync(placeOf(shot), withPalette(shot.png))
  const wanted = all === undefined ? undefined : new Set(all.map(placeOf))
  for (const place of places()) if (wanted?.has(place) === false) rmSync(place)
}

/**
 * From how far apart two colors are different, from 0 to 1. 0.02 is five steps of 255 in a gray:
 * more than another processor's rounding, less than a color that was changed on purpose.
 */
const threshold = 0.02

/**
 * How many pixels may differ: some stems of letters, which another processor may draw another way.
 * A word, a button or a line that has moved are more. Tried: with three of ten values in the whole
 * picture one step off, 20 pixels differ at most.
 */
const tolerated = 50

/** What is different, in a sentence; pictures of it are put into the folder. */
const differenceOf = (shot: Shot, folder: string): string | undefined => {
  const name = `${shot.name}-${shot.look}`
  const place = placeOf(shot)
  const put = (kind: string, png: Buffer) => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${name}-${kind}.png`), png)
  }
  const { png } = shot
  // As it was drawn: a palette chosen again would be another one for every small difference.
  const actual = PNG.sync.read(png)
  if (!existsSync(place)) {
    put("actual", png)
    return `${name}: nothing is recorded`
  }
  const expected = PNG.sync.read(readFileSync(place))
  const { height, width } = actual
  if (expected.width !== width || expected.height !== height) {
    put("actual", png)
    put("expected", readFileSync(place))
    const was = `${expected.width} x ${expected.height}`
    return `${name}: it has ${width} x ${height} pixels, and had ${was}`
  }
  const difference = new PNG({ width, height })
  const count = pixelmatch(expected.data, actual.data, difference.data, width, height, {
    threshold,
  })
  if (count <= tolerated) return undefined
  put("actual", png)
  put("expected", readFileSync(place))
  put("difference", PNG.sync.write(difference))
  const share = ((100 * count) / (width * height)).toFixed(3)
  return `${name}: ${count} pixels differ, ${share} %`
}

/** What is different, a sentence for each picture; none if all is as recorded. */
export const compare = (
  shots: ReadonlyArray<Shot>,
  folder: string,
  isWhole: boolean,
): ReadonlyArray<string> => {
  rmSync(folder, { recursive: true, force: true })
  const found = shots.flatMap((shot) => differenceOf(shot, folder) ?? [])
  const wanted = new Set(shots.map(placeOf))
  const lost = isWhole ? places().filter((place) => !wanted.has(place)) : []
  return [...found, ...lost.map((place) => `${basename(place)}: no such picture is taken any more`)]
}
