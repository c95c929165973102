/**
 * Follows who has a workflow open and which revision is stored: one stream for each workflow,
 * however many components look at it.
 *
 * Guarantees: a stream that breaks begins anew, as long as somebody looks; one that the server
 * refuses does not. Leaves out: whether anybody sees the page.
 */
import type { Client, WorkflowEvent } from "@millrace/api/PromiseClient"
import { isRefused, sleep } from "./RunFollower.ts"

type DataOf<E extends WorkflowEvent["event"]> = Extract<
  WorkflowEvent,
  { readonly event: E }
>["data"]

/** Somebody who has a workflow open. */
export type PresentPerson = DataOf<"presence">["people"][number]

/** What is known of a workflow now. The object is another one whenever something has changed. */
export interface FollowedWorkflow {
  readonly presence: DataOf<"presence">
  /** The stored revision, and which session has saved it; `undefined` before it is known. */
  readonly stored: DataOf<"revision"> | undefined
}

/** What is known before anything has arrived: nobody is there. */
export const noWorkflowFollowed: FollowedWorkflow = {
  presence: { people: [], more: 0 },
  stored: undefined,
}

/** What a follower needs of the world. */
export interface WorkflowFollowerOptions {
  readonly client: { readonly workflows: Pick<Client["workflows"], "live"> }
  /** How long the stream of a workflow goes on that nobody looks at any more; 1,000 by default. */
  readonly lingerMillis?: number
  /** How long to wait before a server that cannot be reached is asked again; 30,000 by default. */
  readonly pauseMillis?: number
}

interface Entry {
  state: FollowedWorkflow
  readonly listeners: Set<() => void>
  readonly stream: AbortController
}

/** The workflows that somebody looks at. Mutable. */
export class WorkflowFollower {
  readonly #entries = new Map<string, Entry>()
  readonly #options: WorkflowFollowerOptions

  constructor(options: WorkflowFollowerOptions) {
    this.#options = options
  }

  /** What is known of a workflow. */
  read(workflowId: string): FollowedWorkflow {
    return this.#entries.get(workflowId)?.state ?? noWorkflowFollowed
  }

  /** Calls back whenever something has changed; the answer ends that. */
  subscribe(workflowId: string, listener: () => void): () => void {
    const entry = this.#entries.get(workflowId) ?? this.#begin(workflowId)
    entry.listeners.add(listener)
    return () => {
      entry.listeners.delete(listener)
      setTimeout(() => this.#end(workflowId, entry), this.#options.lingerMillis ?? 1_000)
    }
  }

  #begin(workflowId: string): Entry {
    const entry = {
      state: noWorkflowFollowed,
      listeners: new Set<() => void>(),
      stream: new AbortController(),
    }
    this.#entries.set(workflowId, entry)
    void this.#follow(workflowId, entry)
    return entry
  }

  #end(workflowId: string, entry: Entry): void {
    if (entry.listeners.size > 0) return
    entry.stream.abort()
    if (this.#entries.get(workflowId) === entry) this.#entries.delete(workflowId)
  }

  #set(entry: Entry, change: Partial<FollowedWorkflow>): void {
    entry.state = { ...entry.state, ...change }
    for (const listener of entry.listeners) listener()
  }

  async #follow(workflowId: string, entry: Entry): Promise<void> {
    const { client, pauseMillis = 30_000 } = this.#options
    const { signal } = entry.stream
    while (!signal.aborted) {
      try {
        for await (const { data, event } of client.workflows.live(workflowId, { signal })) {
          if (event === "presence") this.#set(entry, { presence: data })
          else this.#set(entry, { stored: data })
        }
      } catch (error) {
        if (signal.aborted) return
        this.#set(entry, noWorkflowFollowed)
        if (isRefused(error)) return
      }
      await sleep(pauseMillis, signal)
    }
  }
}
