// What a user of a job queue writes for workflows of several steps: a job for each step, which
// enqueues what follows, and a counter where 50 steps come together.
//
// Counters and who waits for a run are in memory: a crash loses them. Nothing says which runs there
// are, what their graph was or how far they came.

/**
 * @typedef {import("../contest/Contestant.ts").Graph} Graph
 * @typedef {{ readonly run: number, readonly graph: Graph, readonly layer: number,
 *   readonly index: number }} Job
 */

/** Steps in each layer of a graph. @type {{ readonly [graph: string]: ReadonlyArray<number> }} */
const layersOf = {
  single: [1],
  chain: Array.from({ length: 10 }, () => 1),
  fan: [1, 50, 1],
}

/** The runs of this process. */
export class Runs {
  #last = 0
  /** @type {Map<number, { left: number, readonly resolve: () => void }>} */
  #open = new Map()

  /**
   * A new run: its first job, and a promise of its end.
   * @param {Graph} graph
   */
  begin(graph) {
    const run = (this.#last += 1)
    const { promise, resolve } = Promise.withResolvers()
    this.#open.set(run, { left: 1, resolve: () => resolve(undefined) })
    return { job: { run, graph, layer: 0, index: 0 }, ended: promise }
  }

  /**
   * The jobs that follow from a step that is done.
   * @param {Job} job
   * @returns {ReadonlyArray<Job>}
   */
  after({ graph, layer, run }) {
    const state = this.#open.get(run)
    // Of an earlier process, or done twice.
    if (state === undefined || (state.left -= 1) > 0) return []
    const width = layersOf[graph]?.[layer + 1] ?? 0
    state.left = width
    return Array.from({ length: width }, (_, index) => ({ run, graph, layer: layer + 1, index }))
  }

  /**
   * Tells who waits, if a step that is stored was the last one of its run.
   * @param {Job} job
   */
  stored({ graph, layer, run }) {
    if (layer + 1 < (layersOf[graph]?.length ?? 0)) return
    this.#open.get(run)?.resolve()
    this.#open.delete(run)
  }

  /** True if no run is open. */
  get isIdle() {
    return this.#open.size === 0
  }
}

/**
 * Gathers what arrives while a statement is on its way, and hands it over as the next one. An item
 * is stored when its promise resolves.
 * @template A
 * @param {(items: ReadonlyArray<A>) => Promise<unknown>} flush
 * @returns {(item: A) => Promise<void>}
 */
export const gather = (flush) => {
  /** @type {Array<{ item: A, resolve: () => void, reject: (error: unknown) => void }>} */
  let waiting = []
  let isBusy = false
  const loop = async () => {
    isBusy = true
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        await flush(group.map(({ item }) => item))
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    isBusy = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve: () => resolve(undefined), reject })
      // What is said in the same moment belongs to the same group.
      if (!isBusy) {
        isBusy = true
        setImmediate(() => void loop())
      }
    })
}
