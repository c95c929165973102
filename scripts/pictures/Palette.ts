/**
 * Pictures of at most 256 colors: a third of the size.
 *
 * Guarantees: the same picture gives the same bytes. Colors of surfaces and texts stay as they are,
 * since they are frequent; of the edges of letters, rare ones become the nearest that is kept.
 * Leaves out: transparency; a page has none.
 */
import { PNG } from "pngjs"
import { crc32, deflateSync } from "node:zlib"

/** Of them, this many are the most frequent ones; the others are those that are farthest off. */
const most = 256
const frequent = 160

type Color = readonly [red: number, green: number, blue: number]

const colorOf = (pixel: number): Color => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]

const distance = ([r1, g1, b1]: Color, [r2, g2, b2]: Color): number =>
  (r1 - r2) ** 2 + (g1 - g2) ** 2 + (b1 - b2) ** 2

/** The palette, and the place in it that each pixel gets. */
const choose = (pixels: Uint32Array) => {
  const counts = new Map<number, number>()
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1)
  const all = [...counts]
    .toSorted(([one, few], [other, many]) => many - few || one - other)
    .map(([pixel]) => ({ pixel, color: colorOf(pixel), index: 0, off: Number.POSITIVE_INFINITY }))
  const palette: Array<Color> = []
  const keep = (color: Color) => {
    for (const each of all) {
      const off = distance(color, each.color)
      if (off < each.off) Object.assign(each, { off, index: palette.length })
    }
    palette.push(color)
  }
  for (const { color } of all.slice(0, frequent)) keep(color)
  while (palette.length < most) {
    const farthest = all.reduce((one, other) => (other.off > one.off ? other : one))
    if (farthest.off === 0) break
    keep(farthest.color)
  }
  return { palette, places: new Map(all.map(({ index, pixel }) => [pixel, index])) }
}

const chunk = (name: string, data: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data])
  const made = Buffer.alloc(body.length + 8)
  made.writeUInt32BE(data.length, 0)
  body.copy(made, 4)
  made.writeUInt32BE(crc32(body), body.length + 4)
  return made
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** The same picture with a palette. */
export const withPalette = (png: Buffer): Buffer => {
  const { data, height, width } = PNG.sync.read(png)
  const pixels = new Uint32Array(data.buffer, data.byteOffset, width * height)
  const { palette, places } = choose(pixels)
  // Every line begins with the number of its filter, which is none.
  const lines = Buffer.alloc((width + 1) * height)
  pixels.forEach((pixel, at) => {
    lines[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = places.get(pixel)!
  })
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("PLTE", Uint8Array.from(palette.flat())),
    chunk("IDAT", deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk("IEND", new Uint8Array()),
  ])
}
