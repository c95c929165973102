/**
 * Follows runs for all components that show them: one stream and one definition for each run,
 * however many look at it.
 *
 * Guarantees: a stream that breaks begins anew, as long as somebody looks; a run that has ended is
 * not asked for again. Leaves out: inputs, outputs and logs of nodes.
 */
import type { Client, RunDefinition } from "@millrace/api/PromiseClient"
import type { LiveRun } from "./LiveRun.ts"
import { clockOffset, followed, hasEnded } from "./LiveRun.ts"

/** A run as it is known now. The object is another one whenever something has changed. */
export interface FollowedRun {
  readonly live: LiveRun | undefined
  readonly definition: RunDefinition | undefined
  /** True while events arrive as they happen. */
  readonly isLive: boolean
  /** Why nothing arrives: the server refused, or cannot be reached. */
  readonly error: unknown
  /** By how many milliseconds the server's clock is ahead of the viewer's. */
  readonly clockOffset: number
}

/** What is shown before anything has arrived. */
export const nothingFollowed: FollowedRun = {
  live: undefined,
  definition: undefined,
  isLive: false,
  error: undefined,
  clockOffset: 0,
}

/** What a follower needs of the world. */
export interface FollowerOptions {
  readonly client: Pick<Client, "runs">
  /** Milliseconds since 1970 by the viewer's clock. */
  readonly now: () => number
  /** How long the stream of a run goes on that nobody looks at any more; 1,000 by default. */
  readonly lingerMillis?: number
  /** How long to wait before a server that cannot be reached is asked again; 5,000 by default. */
  readonly pauseMillis?: number
}

/** Changes within this time are told of together. */
const togetherMillis = 30

/** How many runs that nobody looks at are kept. */
const keptRuns = 30

interface Entry {
  state: FollowedRun
  readonly listeners: Set<() => void>
  stream: AbortController | undefined
  definition: Promise<void> | undefined
  telling: ReturnType<typeof setTimeout> | undefined
}

/** What the client rejects with if the server answers with an error. */
const statusOf = (error: unknown): number | undefined => {
  const { status } = (error ?? {}) as { readonly status?: unknown }
  return typeof status === "number" ? status : undefined
}

/** True if asking again cannot help. */
export const isRefused = (error: unknown): boolean => {
  const status = statusOf(error)
  return status !== undefined && status >= 400 && status < 500 && status !== 429
}

/** Waits, or until the signal is aborted. */
export const sleep = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(done, millis)
    signal.addEventListener("abort", done, { once: true })
  })

/** The runs that somebody looks at. Mutable. */
export class RunFollower {
  readonly #entries = new Map<string, Entry>()
  readonly #options: FollowerOptions

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  /** What is known of a run. */
  read(runId: string): FollowedRun {
    return this.#entries.get(runId)?.state ?? nothingFollowed
  }

  /** Calls back whenever something has changed; the answer ends that. */
  subscribe(runId: string, listener: () => void): () => void {
    const entry = this.#entry(runId)
    entry.listeners.add(listener)
    this.#begin(runId, entry)
    return () => {
      entry.listeners.delete(listener)
      setTimeout(() => this.#end(entry), this.#options.lingerMillis ?? 1_000)
    }
  }

  #entry(runId: string): Entry {
    const known = this.#entries.get(runId)
    if (known !== undefined) return known
    const made: Entry = {
      state: nothingFollowed,
      listeners: new Set(),
      stream: undefined,
      definition: undefined,
      telling: undefined,
    }
    this.#entries.set(runId, made)
    for (const [id, { listeners, stream }] of this.#entries) {
      if (this.#entries.size <= keptRuns) break
      if (listeners.size === 0 && stream === undefined && id !== runId) this.#entries.delete(id)
    }
    return made
  }

  /** Tells those who look, once for all changes that come together. */
  #set(entry: Entry, change: Partial<FollowedRun>): void {
    const before = entry.state
    const isChanged = (Object.keys(change) as ReadonlyArray<keyof FollowedRun>).some(
      (name) => name !== "clockOffset" && change[name] !== before[name],
    )
    if (!isChanged) return
    entry.state = { ...before, ...change }
    entry.telling ??= setTimeout(() => {
      entry.telling = undefined
      for (const listener of entry.listeners) listener()
    }, togetherMillis)
  }

  #begin(runId: string, entry: Entry): void {
    const { live } = entry.state
    if (entry.stream !== undefined || (live !== undefined && hasEnded(live.run))) return
    const stream = new AbortController()
    entry.stream = stream
    void this.#follow(runId, entry, stream.signal).finally(() => {
      if (entry.stream === stream) entry.stream = undefined
    })
  }

  #end(entry: Entry): void {
    if (entry.listeners.size > 0 || entry.stream === undefined) return
    entry.stream.abort()
    entry.stream = undefined
    this.#set(entry, { isLive: false })
  }

  /** The graph never changes, so it is read once, beside the stream. */
  #readDefinition(runId: string, entry: Entry): void {
    entry.definition ??= this.#options.client.runs.definition(runId).then(
      (definition) => this.#set(entry, { definition }),
      () => {
        entry.definition = undefined
      },
    )
  }

  async #follow(runId: string, entry: Entry, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#readDefinition(runId, entry)
      try {
        await this.#readStream(runId, entry, signal)
        this.#set(entry, { isLive: false })
        return
      } catch (error) {
        if (signal.aborted) return
        this.#set(entry, { isLive: false, error })
        if (isRefused(error)) return
      }
      await sleep(this.#options.pauseMillis ?? 5_000, signal)
    }
  }

  async #readStream(runId: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const after = entry.state.live?.sequence ?? 0
    const items = this.#options.client.runs.events(runId, { view: "summary", after, signal })
    for await (const item of items) {
      if (signal.aborted) return
      const here = this.#options.now()
      const offset = clockOffset(entry.state.clockOffset, item, here)
      const live = followed(entry.state.live, item, here + offset)
      const isLive = live !== undefined && !hasEnded(live.run)
      this.#set(entry, { live, isLive, error: undefined, clockOffset: offset })
    }
  }
}
