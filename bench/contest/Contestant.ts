// A contestant: something that runs workflows, in a process of its own, so that its processor time
// can be told from everybody else's. This is the side of that process; `ContestantProcess.ts` is
// the other one.
//
// The workloads are the same for all: W1, a chain of ten steps, 100 runs in flight; W2, one step,
// 50 in parallel, one; W3, one run of one step at a time; W4, one-step runs, 100 starts at once. A
// step returns about 200 bytes of JSON. Every workload waits for the end of all that it started.
import { setTimeout as sleep } from "node:timers/promises"

/** What a run looks like: `pure` is a chain of ten nodes without effects. */
export type Graph = "chain" | "fan" | "single" | "pure" | "slow"

/** A workload, by name. `slow` is W1 with steps of 20 ms. */
export type Workload = "W1" | "W2" | "W3" | "W4" | "pure" | "slow" | "HTTP" | "memory"

/** What came of a workload. */
export interface Measured {
  /** Steps that were executed. */
  readonly steps: number
  /** Steps a second; milliseconds of one run on W3; bytes for each run in flight on `memory`. */
  readonly value: number
  /** Starts a second, on W4 and HTTP. */
  readonly accepted?: number
  /** Milliseconds on W3. */
  readonly p99?: number
}

/** A run that was accepted. */
export interface Accepted {
  readonly ended: Promise<unknown>
}

/** Starts a run, and resolves when it is accepted. */
export type Start = (graph: Graph) => Promise<Accepted>

/** Something that runs workflows. */
export interface Contestant {
  measure(workload: Workload, millis: number): Promise<Measured>
  close(): Promise<void>
  /** Processes whose time is the engine's; its own process by default. */
  readonly engine?: ReadonlyArray<number>
  /** Roots of the processes whose time is the store's; Postgres by default. */
  readonly store?: ReadonlyArray<number>
}

/** Steps of a run. */
export const stepsOf: { readonly [G in Graph]: number } = {
  chain: 10,
  fan: 52,
  single: 1,
  pure: 10,
  slow: 10,
}

/** What a step returns: about 200 bytes of JSON. */
export const payload = {
  id: "0198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11",
  name: "a trivial result",
  tags: ["alpha", "beta", "gamma"],
  total: 1234.56,
  nested: { ok: true, count: 42, note: "about two hundred bytes of JSON altogether" },
}

/** What a step of {@link Graph} `slow` waits. */
export const slowStep = (): Promise<void> => sleep(20)

export const atOnce = 100

export const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? 0

/** True once so many milliseconds have passed. */
export const timer = (millis: number): (() => boolean) => {
  const end = performance.now() + millis
  return () => performance.now() > end
}

const times = (count: number, work: () => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, work))

const inFlight = async (start: Start, graph: Graph, millis: number): Promise<Measured> => {
  const begun = performance.now()
  const isOver = timer(millis)
  let runs = 0
  await times(atOnce, async () => {
    while (!isOver()) {
      const { ended } = await start(graph)
      await ended
      runs += 1
    }
  })
  const steps = runs * stepsOf[graph]
  return { steps, value: (steps * 1_000) / (performance.now() - begun) }
}

const oneByOne = async (start: Start, millis: number): Promise<Measured> => {
  const isOver = timer(millis)
  const latencies: Array<number> = []
  while (!isOver()) {
    const begun = performance.now()
    const { ended } = await start("single")
    await ended
    latencies.push(performance.now() - begun)
  }
  const value = percentile(latencies, 0.5)
  return { steps: latencies.length, value, p99: percentile(latencies, 0.99) }
}

/** Starts for half of the time; what was accepted then comes to its end. */
const acceptAll = async (start: Start, millis: number): Promise<Measured> => {
  const begun = performance.now()
  const isOver = timer(millis / 2)
  const all: Array<Promise<unknown>> = []
  await times(atOnce, async () => {
    while (!isOver()) all.push((await start("single")).ended)
  })
  const accepted = (all.length * 1_000) / (performance.now() - begun)
  await Promise.all(all)
  return { steps: all.length, value: (all.length * 1_000) / (performance.now() - begun), accepted }
}

/** The workloads, for whoever has a way to start a run and to hear of its end. */
export const measuring =
  (start: Start) =>
  (workload: Workload, millis: number): Promise<Measured> => {
    switch (workload) {
      case "W1":
        return inFlight(start, "chain", millis)
      case "W2":
        return inFlight(start, "fan", millis)
      case "W3":
        return oneByOne(start, millis)
      case "W4":
        return acceptAll(start, millis)
      case "pure":
      case "slow":
        return inFlight(start, workload, millis)
      case "HTTP":
      case "memory":
        return Promise.reject(new Error(`${workload} is not measured here`))
    }
  }

/** What the other side asks for. */
export type Request =
  | { readonly call: "open" | "close" }
  | { readonly call: "measure"; readonly workload: Workload; readonly millis: number }

/** What it gets. */
export type Reply =
  | { readonly value: Measured | Pick<Contestant, "engine" | "store"> | null }
  | { readonly error: string }

const sentenceOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

/**
 * Answers the other side until it is gone. `open` gets the address of an own database; `end` puts
 * away what stays between figures.
 */
export const offer = (
  open: (database: string) => Promise<Contestant>,
  end: () => Promise<void> = () => Promise.resolve(),
): void => {
  let current: Contestant | undefined
  const answer = async (request: Request): Promise<Reply> => {
    switch (request.call) {
      case "open": {
        current = await open(process.env["DATABASE_URL"] ?? "")
        const { engine = [process.pid], store } = current
        return { value: store === undefined ? { engine } : { engine, store } }
      }
      case "measure":
        return { value: await current!.measure(request.workload, request.millis) }
      case "close":
        await current?.close()
        current = undefined
        return { value: null }
    }
  }
  process.on("message", (request: Request) => {
    void answer(request)
      .catch((error: unknown): Reply => ({ error: sentenceOf(error) }))
      .then((reply) => process.send?.(reply))
  })
  // Nothing that it has started may stay behind.
  process.on("disconnect", () => {
    void Promise.resolve(current?.close())
      .then(end)
      .catch(() => undefined)
      .then(() => process.exit())
  })
}
