/**
 * Threads that compute expressions or code, and whose turn it is.
 *
 * Guarantees: accounts take turns, and if there are several threads, one account never has all of
 * them. A thread that is late is ended and replaced. Threads are started when they are first
 * needed, and keep no process alive. Leaves out: what an expression may do, which `Sandbox` says.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { Worker } from "node:worker_threads"
import type { SandboxAnswer, SandboxBounds, SandboxCall } from "./SandboxWire.ts"

const isSource = import.meta.url.endsWith(".ts")

const entry = new URL(isSource ? "./SandboxThread.ts" : "./SandboxThread.js", import.meta.url)

/** How long a thread may take to begin with an expression. */
const startMillis = 10_000

/** How long a closing engine waits for its threads to end. */
const closeMillis = 5_000

/** How often a late thread is looked at before it is ended, whatever the processor did. */
const lastLook = 10

/** What of one call is known to who asks. */
export type CallRequest = Omit<SandboxCall, "id">

/** What came of a call; `undefined`: its thread was ended, because it was late or failed. */
export type CallAnswer = Omit<SandboxAnswer, "id"> | undefined

/** Calls that follow each other on one thread. Mutable. */
export interface Job {
  readonly account: AccountId
  readonly calls: ReadonlyArray<CallRequest>
  /** Gets each answer; false: no further call is made. */
  readonly heard: (answer: CallAnswer, place: number) => boolean
  readonly done: () => void
}

export interface PoolBounds extends SandboxBounds {
  readonly threads: number
  /** Milliseconds after which a thread that does not answer is ended. */
  readonly lateMillis: number
  /** Jobs of one account that wait. */
  readonly mostWaiting: number
}

/** A place for a thread. Mutable. */
interface Place {
  worker: Worker | undefined
  isReady: boolean
  job: Job | undefined
  /** The call that is on its way. */
  place: number
  timer: NodeJS.Timeout | undefined
  /** The last key, whose context the thread has probably kept. */
  key: string | undefined
}

/** The threads of one engine. Mutable. */
export class Pool {
  readonly #bounds: PoolBounds
  readonly #places: ReadonlyArray<Place>
  readonly #waiting = new Map<AccountId, Array<Job>>()
  readonly #ending = new Set<Promise<unknown>>()
  #calls = 0
  #isClosed = false

  constructor(bounds: PoolBounds) {
    this.#bounds = bounds
    this.#places = Array.from({ length: bounds.threads }, () => ({
      worker: undefined,
      isReady: false,
      job: undefined,
      place: 0,
      timer: undefined,
      key: undefined,
    }))
  }

  /** Puts a job in line; false if its account has too many there. */
  submit(job: Job): boolean {
    const line = this.#waiting.get(job.account) ?? []
    if (line.length >= this.#bounds.mostWaiting || this.#isClosed) return false
    line.push(job)
    this.#waiting.set(job.account, line)
    this.#look()
    return true
  }

  /** Takes a job out of line. One that has begun ends at its next answer. */
  withdraw(job: Job): void {
    const line = this.#waiting.get(job.account)
    if (line?.includes(job) !== true) return
    this.#keep(
      job.account,
      line.filter((each) => each !== job),
    )
  }

  /** Takes a job out of line, or ends its thread if it has begun. */
  end(job: Job): void {
    this.withdraw(job)
    const place = this.#places.find((each) => each.job === job)
    if (place === undefined) return
    // Without a timer, nothing was sent to the thread yet.
    if (place.timer !== undefined) this.#retire(place)
    clearTimeout(place.timer)
    place.timer = undefined
    place.job = undefined
    this.#look()
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const place of this.#places) this.#retire(place)
    // Threads keep no process alive, so something has to, until they have ended.
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, closeMillis)
    await Promise.race([Promise.all(this.#ending), promise])
    clearTimeout(timer)
  }

  /** Gives free threads to jobs, in turn of their accounts. */
  #look(): void {
    for (const [account, line] of this.#waiting) {
      const free = this.#places.filter(({ job }) => job === undefined)
      if (free.length === 0 || this.#isClosed) return
      const busy = this.#places.filter(({ job }) => job?.account === account).length
      if (busy >= Math.max(1, this.#places.length - 1)) continue
      const [job, ...rest] = line
      const key = job!.calls[0]?.key
      const place = free.find((each) => each.key === key) ?? free.find(isOpen) ?? free[0]!
      place.job = job
      place.place = 0
      // Whoever had a turn goes to the end.
      this.#keep(account, rest)
      this.#advance(place)
    }
  }

  #keep(account: AccountId, line: Array<Job>): void {
    this.#waiting.delete(account)
    if (line.length > 0) this.#waiting.set(account, line)
  }

  /** Sends the next call of the place's job, or ends the job. */
  #advance(place: Place): void {
    const { job } = place
    if (job === undefined) return
    if (place.place >= job.calls.length) {
      place.job = undefined
      job.done()
      return this.#look()
    }
    place.worker ??= this.#start(place)
    if (!place.isReady) return
    const call = job.calls[place.place]!
    place.key = call.key
    place.timer = setTimeout(() => this.#overdue(place, undefined, 1), startMillis)
    place.worker.postMessage({ ...call, id: (this.#calls += 1) } satisfies SandboxCall, [])
  }

  /** The expression of a place begins. */
  #begin(place: Place): void {
    clearTimeout(place.timer)
    const begun = process.cpuUsage()
    const { lateMillis, millis } = this.#bounds
    place.timer = setTimeout(() => this.#overdue(place, begun, 1), millis + lateMillis)
  }

  /**
   * A thread that got no processor is not late: then the whole process has used little. And this
   * process may have been late itself, so an answer that is there counts.
   */
  #overdue(place: Place, begun: NodeJS.CpuUsage | undefined, looks: number): void {
    const { lateMillis, millis } = this.#bounds
    const { system, user } = process.cpuUsage(begun)
    const hadLittle = (system + user) / 1_000 < Math.max(lateMillis, millis)
    if (begun !== undefined && hadLittle && looks < lastLook) {
      place.timer = setTimeout(() => this.#overdue(place, begun, looks + 1), lateMillis)
      return
    }
    const { timer } = place
    setImmediate(() => {
      if (place.timer !== timer) return
      this.#retire(place)
      this.#hear(place, undefined)
    })
  }

  #hear(place: Place, answer: CallAnswer): void {
    clearTimeout(place.timer)
    place.timer = undefined
    const { job } = place
    if (job === undefined) return
    place.place = job.heard(answer, place.place) ? place.place + 1 : job.calls.length
    this.#advance(place)
  }

  #start(place: Place): Worker {
    const worker = new Worker(entry, {
      workerData: this.#bounds,
      // It needs nothing of this process: no variables, no flags, no console.
      env: {},
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
      name: "millrace-expressions",
      resourceLimits: { maxOldGenerationSizeMb: 64, stackSizeMb: 16 },
    })
    worker.unref()
    place.isReady = false
    worker.on("message", (news: SandboxAnswer | "begun" | "ready") => {
      if (place.worker !== worker) return
      if (news === "begun") return this.#begin(place)
      if (news === "ready") {
        place.isReady = true
        return this.#advance(place)
      }
      if (news.isBroken === true) this.#retire(place)
      this.#hear(place, news)
    })
    const gone = () => {
      if (place.worker !== worker) return
      this.#retire(place)
      this.#hear(place, undefined)
    }
    worker.on("error", gone).on("messageerror", gone).on("exit", gone)
    return worker
  }

  #retire(place: Place): void {
    const { worker } = place
    place.worker = undefined
    place.isReady = false
    place.key = undefined
    if (worker === undefined) return
    const ended: Promise<unknown> = worker.terminate().then(() => this.#ending.delete(ended))
    worker.unref()
    this.#ending.add(ended)
  }
}

const isOpen = ({ worker }: Place): boolean => worker !== undefined
