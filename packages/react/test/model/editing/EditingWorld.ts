/**
 * The world of editors in tests: a real engine, time that a test moves, a storage, and a network
 * that a test breaks.
 *
 * Guarantees: no real time passes but what the engine needs to answer.
 */
import type { Client } from "@millrace/api/PromiseClient"
import type { Schedule } from "../../../src/model/editing/internal/Autosave.ts"
import type { WorkflowDocument } from "../../../src/model/editing/Document.ts"
import type { DraftStorage } from "../../../src/model/editing/DraftStore.ts"
import { DraftStore } from "../../../src/model/editing/DraftStore.ts"
import type { EditedWorkflows } from "../../../src/model/editing/EditingOptions.ts"
import { WorkflowEditing } from "../../../src/model/editing/WorkflowEditing.ts"

/** A storage with room for so many characters. */
export class MemoryStorage implements DraftStorage {
  readonly items = new Map<string, string>()
  room = Number.POSITIVE_INFINITY

  get length(): number {
    return this.items.size
  }

  key(at: number): string | null {
    return [...this.items.keys()][at] ?? null
  }

  getItem(key: string): string | null {
    return this.items.get(key) ?? null
  }

  setItem(key: string, value: string): void {
    if (value.length > this.room) throw new DOMException("full", "QuotaExceededError")
    this.items.set(key, value)
  }

  removeItem(key: string): void {
    this.items.delete(key)
  }
}

/** What happens to a call. `unanswered`: the server does it, and nobody hears of it. */
export type Weather = "fine" | "unreachable" | "unanswered"

interface Timer {
  readonly at: number
  readonly work: () => void
}

/** A tab that lives until it is killed. */
interface Life {
  readonly editorId: string
  isOver: boolean
}

/** Editors and their surroundings. Mutable. */
export class EditingWorld {
  readonly storage = new MemoryStorage()
  now = 1_000_000
  isVisible = true
  /** Of the next calls, by name of the operation; `fine` by default. */
  weather: (operation: keyof EditedWorkflows) => Weather = () => "fine"
  /** In the place of the answer of the engine. */
  refusal: Error | undefined
  /** The operations that were called, in order. */
  readonly calls: Array<string> = []
  readonly #workflows: EditedWorkflows
  readonly #timers = new Set<Timer>()
  readonly #open = new Set<Promise<unknown>>()
  readonly #lives = new Map<WorkflowEditing, Life>()
  #editors = 0

  constructor(client: Client) {
    this.#workflows = client.workflows
  }

  #scheduleIn(life: Life): Schedule {
    return (work, millis) => {
      const timer = { at: this.now + millis, work: () => (life.isOver ? undefined : work()) }
      this.#timers.add(timer)
      return () => void this.#timers.delete(timer)
    }
  }

  /** The operations, through the network. Who is dead hears no answer. */
  #workflowsIn(life: Life): EditedWorkflows {
    const call =
      (name: keyof EditedWorkflows) =>
      (...given: ReadonlyArray<unknown>) => {
        const answer = this.#call(name, given)
        this.#open.add(answer)
        void answer.catch(() => {}).finally(() => this.#open.delete(answer))
        const heard = (act: () => void) => () => (life.isOver ? undefined : act())
        return new Promise((resolve, reject) => {
          answer.then(
            (value) => heard(() => resolve(value))(),
            (error: unknown) => heard(() => reject(error))(),
          )
        }) as never
      }
    return {
      create: call("create"),
      getTagged: call("getTagged"),
      updateTagged: call("updateTagged"),
      validate: call("validate"),
    }
  }

  async #call(name: keyof EditedWorkflows, given: ReadonlyArray<unknown>): Promise<unknown> {
    this.calls.push(name)
    const weather = this.weather(name)
    const { refusal } = this
    if (weather === "unreachable") throw new TypeError("fetch failed")
    if (refusal !== undefined) throw refusal
    const operation = this.#workflows[name] as (...all: ReadonlyArray<unknown>) => Promise<unknown>
    const answer = await operation(...given)
    if (weather === "unanswered") throw new TypeError("fetch failed")
    return answer
  }

  /** The drafts of a user in this browser. */
  drafts(user = "ada"): DraftStore {
    return new DraftStore(this.storage, { server: "https://a.test", account: "acme", user })
  }

  /** Opens an editor, as a tab would. */
  async open(workflowId: string, user?: string): Promise<WorkflowEditing> {
    this.#editors += 1
    const life: Life = { editorId: `editor${this.#editors}`, isOver: false }
    const editing = new WorkflowEditing({
      client: { workflows: this.#workflowsIn(life) },
      workflowId,
      drafts: this.drafts(user),
      editorId: life.editorId,
      openEditors: async () => {
        const open = [...this.#lives.values()].filter(({ isOver }) => !isOver)
        return new Set(open.map(({ editorId }) => editorId))
      },
      now: () => this.now,
      schedule: this.#scheduleIn(life),
      isVisible: () => this.isVisible,
    })
    this.#lives.set(editing, life)
    editing.open()
    await this.settle()
    return editing
  }

  /** Waits until every call has been answered, and what follows from that has been called. */
  async settle(): Promise<void> {
    do {
      await Promise.allSettled(this.#open)
      for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    } while (this.#open.size > 0)
  }

  /** Lets time pass. */
  async pass(millis: number): Promise<void> {
    const end = this.now + millis
    for (;;) {
      const due = [...this.#timers]
        .filter(({ at }) => at <= end)
        .toSorted((left, right) => left.at - right.at)[0]
      if (due === undefined) break
      this.#timers.delete(due)
      this.now = Math.max(this.now, due.at)
      due.work()
      await this.settle()
    }
    this.now = end
  }

  /** Closes an editor, as a page does that goes on without it. */
  close(editing: WorkflowEditing): void {
    editing.close()
    this.#lives.delete(editing)
  }

  /** Ends a tab at once; of what it has done, the storage and the server are left. */
  kill(editing: WorkflowEditing): void {
    this.#lives.get(editing)!.isOver = true
  }

  /** Ends all tabs at once. */
  crash(): void {
    for (const life of this.#lives.values()) life.isOver = true
  }

  /** The document as the server has it. */
  async stored(workflowId: string): Promise<WorkflowDocument> {
    const { workflow } = await this.#workflows.getTagged(workflowId)
    const { description, edges, name, nodes, settings } = workflow
    return { name, description, settings, nodes, edges }
  }
}
