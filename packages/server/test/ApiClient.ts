/**
 * Requests to a server as any client would make them.
 */

/** A run as a client reads it, as far as the tests look. */
export interface RunView {
  readonly id: string
  readonly status: string
  readonly workflowName: string
  readonly error: string | null
  readonly context: { readonly output: unknown }
  readonly nodeRuns: ReadonlyArray<{
    readonly nodeId: string
    readonly status: string
    readonly startedAt: string | null
    readonly finishedAt: string | null
  }>
}

/** Calls a server with a key. */
export class ApiClient {
  readonly #origin: string
  readonly #secret: string

  constructor(origin: string, secret: string) {
    this.#origin = origin
    this.#secret = secret
  }

  /** The answer's JSON; fails unless the status is 2xx. */
  async call<A>(method: "GET" | "POST", path: string, body?: unknown): Promise<A> {
    const response = await fetch(`${this.#origin}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#secret}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as A
  }

  /** Starts a run and returns its id. */
  async start(workflowId: string, values: object = {}): Promise<string> {
    const { runId } = await this.call<{ runId: string }>("POST", "/runs", { workflowId, values })
    return runId
  }

  /**
   * Asks for a run until it is as wanted: often at first, then ever less, because a key may ask
   * only so often. A server that is too busy to answer in time says 503, and is asked again.
   */
  async runWhen(id: string, wanted: (run: RunView) => boolean): Promise<RunView> {
    for (let pause = 50; pause < 8_000; pause *= 1.2) {
      const run = await this.call<RunView>("GET", `/runs/${id}`).catch((error: Error) => {
        if (!error.message.includes(": 503 ")) throw error
        return undefined
      })
      if (run !== undefined && wanted(run)) return run
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
    throw new Error(`Run ${id} did not become as expected`)
  }
}

/** True for a run that has ended. */
export const hasEnded = ({ status }: RunView): boolean => !["QUEUED", "RUNNING"].includes(status)
