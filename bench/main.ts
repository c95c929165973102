// `npm run bench`: how the cost of a node depends on the size of its workflow, in memory.
//
// Prints a table and writes the same figures as JSON to `bench/results.json`. Figures are of this
// machine and this moment: compare only figures of one run. Rounds are interleaved, so that a
// machine that slows down slows every size alike; the median of the rounds is reported.
import { writeFileSync } from "node:fs"
import type { Shape } from "./Scaling.ts"
import { measure } from "./Scaling.ts"

const shapes: ReadonlyArray<Shape> = ["chain", "fan"]
const sizes = [100, 1_000, 10_000]
const rounds = 5

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

const samples = new Map<string, Array<number>>()
for (let round = -1; round < rounds; round++) {
  for (const shape of shapes) {
    for (const size of sizes) {
      const figure = await measure(shape, size)
      // Round -1 warms up the compiler and does not count.
      if (round < 0) continue
      const key = `${shape} ${size}`
      samples.set(key, [...(samples.get(key) ?? []), figure])
    }
  }
  process.stderr.write(round < 0 ? "warmed up\n" : `round ${round + 1} of ${rounds}\n`)
}

const results = shapes.flatMap((shape) =>
  sizes.map((size) => ({
    shape,
    nodes: size,
    nodesPerSecond: Math.round(median(samples.get(`${shape} ${size}`) ?? [])),
  })),
)
console.table(results)
for (const shape of shapes) {
  const of = (size: number) =>
    results.find((each) => each.shape === shape && each.nodes === size)?.nodesPerSecond ?? 0
  const ratio = (of(10_000) / of(1_000)).toFixed(2)
  console.log(`${shape}: nodes per second at 10,000 / at 1,000 = ${ratio} (at least 0.8)`)
}
writeFileSync(new URL("results.json", import.meta.url), JSON.stringify(results, null, 2) + "\n")
