// `npm run bench`: what the engine costs, as tables and as JSON in `bench/results.json`.
//
// 1. In memory, how the cost of a node depends on the size of its workflow.
// 2. On Postgres with fsync on, each workload beside its ceiling: a bare loop over the same driver
//    that writes the same rows without an engine. And the same workloads in memory.
// 3. Over HTTP, reading a workflow with a key that has limits, beside bare node:http and fastify.
// 4. Deliveries of webhooks from Postgres, beside a bare loop that posts the same bytes.
// 5. On Postgres, a server with 1,000 runs that wait beside one with 100,000.
// 6. On Postgres, what a tenant can ask of a store with a million runs beside one with a thousand.
// 7. What users feel: through `createEngine` and `millrace serve`, with the defaults of production.
// 8. Expressions: plain paths, JavaScript, and what they add to a start.
// 9. How fast the built packages start, and what an idle server takes.
// 10. The same as 7 beside other engines and job queues; only by name, because it installs them.
//
// Figures are of this machine and this moment: compare only those of one run. Rounds are
// interleaved, so that a machine that slows down slows everything alike; medians are reported.
//
// 11. Children, items of a loop, signals and schedules, beside the bare statements.
// 12. This version beside an earlier one; only by name.
//
// `npm run bench -- scaling`, `durable`, `credits`, `http`, `webhooks`, `waiting`, `growth`,
// `expressions`, `depth`, `start`, `engine`, `peers` or `earlier` runs one part. The last three
// take `--rounds 5`, `--millis 5000` (of each figure), `--others 0.3` (cores that others may use
// meanwhile) and `--only graphile-worker`, the beginning of a name. `engine` and `peers` take
// `--write`, which puts ratios into `docs/explanation/performance.md`; `earlier` takes
// `--commit HEAD~20`, the version to compare with; `HEAD~1` by default.
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as Credits from "./Credits.ts"
import * as Depth from "./Depth.ts"
import * as Durable from "./Durable.ts"
import * as Earlier from "./Earlier.ts"
import * as Expressions from "./Expressions.ts"
import * as Engine from "./Engine.ts"
import * as Growth from "./Growth.ts"
import * as Http from "./Http.ts"
import type { Figure } from "./Meter.ts"
import type { Shape } from "./Scaling.ts"
import { measure } from "./Scaling.ts"
import * as Peers from "./Peers.ts"
import * as Start from "./Start.ts"
import * as Waiting from "./Waiting.ts"
import * as Webhooks from "./Webhooks.ts"

const rounds = 5

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

const scaling = async () => {
  const shapes: ReadonlyArray<Shape> = ["chain", "fan"]
  const sizes = [100, 1_000, 10_000]
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
    sizes.map((nodes) => {
      const nodesPerSecond = Math.round(median(samples.get(`${shape} ${nodes}`) ?? []))
      return { shape, nodes, nodesPerSecond }
    }),
  )
  console.table(results)
  for (const shape of shapes) {
    const [, thousand, tenThousand] = results.filter((each) => each.shape === shape)
    const ratio = (tenThousand?.nodesPerSecond ?? 0) / (thousand?.nodesPerSecond ?? 1)
    console.log(`${shape}: nodes per second at 10,000 / at 1,000 = ${ratio.toFixed(2)}`)
  }
  return results
}

const units = { W1: "nodes/s", W2: "nodes/s", W4: "starts/s" } as const

const durable = async () => {
  const samples = await Durable.measure(rounds)
  const rows = (["W1", "W2", "W4"] as const).flatMap((name) => {
    const engine = Durable.median(samples, name)
    const ceiling = Durable.median(samples, `${name} ceiling`)
    const rowOf = (label: string, figure: Figure) => ({
      name: `${name} ${label}`,
      figure,
      ratio: figure.perSecond / ceiling.perSecond,
    })
    const sent = `${name} ceiling, sent`
    return [
      rowOf(units[name], engine),
      rowOf("ceiling", ceiling),
      ...(samples.has(sent) ? [rowOf("ceiling, values sent", Durable.median(samples, sent))] : []),
    ]
  })
  const memory = ["W5 chain", "W5 fan"].map((name) => ({
    name: `${name} nodes/s, in memory`,
    figure: Durable.median(samples, name),
    ratio: undefined,
  }))
  console.table(
    [...rows, ...memory].map(({ figure, name, ratio }) => ({
      workload: name,
      "per second": Math.round(figure.perSecond),
      "of ceiling": ratio === undefined ? "" : ratio.toFixed(2),
      "WAL B/node": Math.round(figure.walBytesPerNode ?? 0),
      "statements/node": Number((figure.statementsPerNode ?? 0).toFixed(3)),
      "CPU s/1,000": Number(figure.cpu.toFixed(3)),
      "Postgres CPU s/1,000": Number((figure.postgresCpu ?? 0).toFixed(3)),
    })),
  )
  const latency = ["W3 p50", "W3 ceiling p50", "W3 p99", "W3 ceiling p99"].map((name) => ({
    name,
    millis: Number(Durable.median(samples, name).perSecond.toFixed(2)),
  }))
  console.table(latency)
  const [p50, bare] = latency
  console.log(`W3 p50 / ceiling = ${((p50?.millis ?? 0) / (bare?.millis ?? 1)).toFixed(2)}`)
  return { rows: [...rows, ...memory], latency }
}

const credits = async () => {
  const samples = await Credits.measure(rounds)
  const rows = Credits.names.map((name) => ({ name, figure: Durable.median(samples, name) }))
  console.table(
    rows.map(({ figure, name }) => ({
      workload: name,
      "per second": Math.round(figure.perSecond),
      "WAL B/run": Math.round(figure.walBytesPerNode ?? 0),
      "CPU s/1,000": Number(figure.cpu.toFixed(3)),
      "Postgres CPU s/1,000": Number((figure.postgresCpu ?? 0).toFixed(3)),
    })),
  )
  const of = (name: Credits.Name) => Durable.median(samples, name).perSecond
  const costs = {
    starts: 1 - of("starts, metered") / of("starts, free"),
    runs: 1 - of("runs, metered") / of("runs, free"),
  }
  for (const [name, cost] of Object.entries(costs)) {
    console.log(`metering costs ${(cost * 100).toFixed(1)} % of ${name} per second`)
  }
  return { rows, costs }
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    millis: { type: "string", default: "5000" },
    others: { type: "string", default: "0.3" },
    write: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    commit: { type: "string", default: "HEAD~1" },
  },
})
const [wanted] = positionals
const rules = {
  rounds: Number(values.rounds),
  millis: Number(values.millis),
  others: Number(values.others),
  write: values.write,
  ...(values.only === undefined ? {} : { only: values.only }),
}
const part = <A>(name: string, run: () => Promise<A>): Promise<A> | undefined =>
  wanted === undefined || wanted === name ? run() : undefined
const results = {
  scaling: await part("scaling", scaling),
  durable: await part("durable", durable),
  credits: await part("credits", credits),
  http: await part("http", () => Http.measure(rounds)),
  webhooks: await part("webhooks", () => Webhooks.measure(rounds)),
  waiting: await part("waiting", () => Waiting.measure(3)),
  start: await part("start", () => Start.measure(rounds)),
  depth: await part("depth", () => Depth.measure(rules.rounds)),
  growth: await part("growth", () => Growth.measure()),
  expressions: await part("expressions", () => Expressions.measure(rounds)),
  engine: await part("engine", () => Engine.measure(rules)),
  // Only by name, because these install packages.
  peers: wanted === "peers" ? await Peers.measure(rules) : undefined,
  earlier: wanted === "earlier" ? await Earlier.measure(values.commit, rules) : undefined,
}
writeFileSync(new URL("results.json", import.meta.url), JSON.stringify(results, null, 2) + "\n")
