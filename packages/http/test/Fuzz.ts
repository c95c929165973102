/**
 * Many requests by chance, made from the OpenAPI document, and what must hold of every answer: no
 * status of 500 or above, and everything as the document says.
 *
 * Guarantees: the same seed sends the same requests, as far as the answers are the same. Leaves
 * out: what is not HTTP.
 */
import { makeDeviationOf } from "./Conformity.ts"
import type { Known } from "./FuzzBodies.ts"
import { bodyOf, oddTexts } from "./FuzzBodies.ts"
import { Dice } from "./FuzzDice.ts"
import type { Document, Operation, Parameter } from "./Operations.ts"
import { bodySchemaOf, operationsOf } from "./Operations.ts"

/** Who is asked. */
export interface Target {
  readonly origin: string
  readonly send: (request: Request) => Promise<Response>
  /** API keys of several accounts, used in turn. */
  readonly keys: ReadonlyArray<string>
}

/** What came of it. */
export interface Report {
  readonly statuses: ReadonlyMap<number, number>
  /** What must not be, each with the request that brought it about. */
  readonly complaints: ReadonlyArray<string>
}

const queryValues: Readonly<Record<string, ReadonlyArray<string>>> = {
  limit: ["1", "50", "0", "51", "0x10", "", "-1", "1e1", "9007199254740993", "١"],
  page: ["1", "2", "9007199254740991", "9007199254740992", "01", " 1"],
  pageSize: ["1", "50", "51", "NaN"],
  status: ["QUEUED", "COMPLETED", "queued", "FAILED,COMPLETED"],
  cursor: ["x", "AAAA", "=", "e30", "a".repeat(4_000)],
}

const headerValues: Readonly<Record<string, ReadonlyArray<string>>> = {
  "If-Match": ['"1"', '"2"', "*", 'W/"1"', '"x"', "1", '"1", "2"', "", '"99999999999999999999"'],
  "Idempotency-Key": ["a", "b", "x".repeat(255), "x".repeat(256), "\u00e9", " ", "k".repeat(9)],
  "Last-Event-ID": ["0", "1", "2", "-1", "x", "99999999999", ""],
}

const oddHeaders: ReadonlyArray<readonly [string, string]> = [
  ["content-encoding", "gzip"],
  ["accept", "text/html"],
  ["x-http-method-override", "DELETE"],
  ["x-forwarded-for", "1.2.3.4, 5.6.7.8"],
  ["range", "bytes=0-5"],
  ["if-none-match", "*"],
  ["origin", "https://evil.example"],
]

const contentTypes = ["text/plain", "application/xml", "application/json; charset=utf-16", "x"]

/** What of the texts can stand in an address. */
const encoded = (text: string): string => {
  try {
    return encodeURIComponent(text)
  } catch {
    return "%ed%a0%80"
  }
}

/** An account, and what is known of it. */
interface Tenant extends Known {
  readonly key: string
  readonly workflows: Array<string>
  readonly runs: Array<string>
}

/** How many things of one kind are remembered. */
const remembered = 20

/** One round of fuzzing. */
class Fuzz {
  readonly statuses = new Map<number, number>()
  readonly complaints: Array<string> = []
  readonly #document: Document
  readonly #target: Target
  readonly #dice: Dice
  readonly #operations: ReadonlyArray<Operation>
  /** Those that take `If-Match`: only one request in a thousand would fail for it otherwise. */
  readonly #conditional: ReadonlyArray<Operation>
  readonly #deviationOf: ReturnType<typeof makeDeviationOf>
  readonly #tenants: ReadonlyArray<Tenant>

  constructor(document: Document, target: Target, nodeTypes: ReadonlyArray<string>, seed: number) {
    this.#document = document
    this.#target = target
    this.#dice = new Dice(seed)
    this.#operations = operationsOf(document)
    this.#conditional = this.#operations.filter(({ parameters }) =>
      parameters.some(({ name }) => name === "If-Match"),
    )
    this.#deviationOf = makeDeviationOf(document)
    this.#tenants = target.keys.map((key) => ({
      key,
      workflows: ["wf_none"],
      runs: ["run_none"],
      nodeTypes: [...nodeTypes, "nonsense"],
    }))
  }

  /** An address of an operation, and now and then one that is none. */
  #pathOf(
    operation: Operation,
    tenant: Tenant,
  ): { readonly path: string; readonly isSpoilt: boolean } {
    const dice = this.#dice
    const own = operation.path.includes("/runs") ? tenant.runs : tenant.workflows
    const id = dice.chance(90) ? dice.pick(own) : dice.pick(oddTexts)
    const path = operation.path.replace("{id}", encoded(id))
    if (!dice.chance(4)) return { path, isSpoilt: false }
    const at = 1 + dice.below(path.length - 1)
    const odd = dice.pick(["/", "//", ";", "%", "%2f", "A", ".", "?", "#"])
    return { path: path.slice(0, at) + odd + path.slice(at), isSpoilt: true }
  }

  #queryOf(parameters: ReadonlyArray<Parameter>, { workflows }: Tenant): string {
    const dice = this.#dice
    const pairs = parameters
      .filter((each) => each.in === "query" && dice.chance(25))
      .map(({ name }) => {
        const values = [...(queryValues[name] ?? []), ...workflows]
        return `${name}=${encoded(dice.chance(80) ? dice.pick(values) : dice.pick(oddTexts))}`
      })
    if (dice.chance(3))
      pairs.push(dice.pick(["limit=1&limit=2", "x=%ff", "%", "&=", "__proto__=1"]))
    return pairs.length === 0 ? "" : `?${pairs.join("&")}`
  }

  #headersOf(parameters: ReadonlyArray<Parameter>, { key }: Tenant, hasBody: boolean): Headers {
    const dice = this.#dice
    const headers = new Headers()
    if (!dice.chance(2)) headers.set("authorization", `Bearer ${key}`)
    else if (dice.chance(50)) headers.set("authorization", dice.pick(["Basic x", "Bearer", "x"]))
    for (const { name } of parameters.filter((each) => each.in === "header")) {
      if (dice.chance(50)) headers.set(name, dice.pick(headerValues[name] ?? [""]))
    }
    if (hasBody) {
      const type = dice.chance(97) ? "application/json" : dice.pick(contentTypes)
      headers.set("content-type", type)
    }
    if (dice.chance(3)) headers.set(...dice.pick(oddHeaders))
    return headers
  }

  #learn({ runs, workflows }: Tenant, text: string): void {
    const note = (ids: Array<string>, id: string | undefined) => {
      if (id === undefined || ids.includes(id)) return
      if (ids.length < remembered) ids.push(id)
      else ids[this.#dice.below(ids.length)] = id
    }
    note(workflows, /"id":"(wf_[\w-]+)"/.exec(text)?.[1])
    note(runs, /"(?:runId|id)":"(run_[\w-]+)"/.exec(text)?.[1])
  }

  /** What was deleted is of little use. */
  #forget({ workflows }: Tenant, method: string, path: string, status: number): void {
    const at = method === "DELETE" && status === 204 ? workflows.indexOf(path.slice(18)) : -1
    if (at >= 0) workflows.splice(at, 1)
  }

  #judge(operation: Operation | undefined, response: Response, text: string, what: string): void {
    const { headers, status } = response
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    const complain = (why: string) =>
      this.complaints.push(`${why}: ${what} -> ${text.slice(0, 300)}`)
    if (status >= 500) complain(String(status))
    if (({} as { polluted?: unknown }).polluted !== undefined) complain("polluted")
    if (operation === undefined) {
      if (status < 400 && status !== 204) return
      if (status >= 400 && !/^\{"error":"(?:[^"\\]|\\.)+"\}$/.test(text)) complain("not an error")
      return
    }
    if (status === 404 && headers.get("x-error-code") === "unknown_route") return
    const deviation = this.#deviationOf(operation, { status, headers, text })
    if (deviation !== undefined) complain(deviation)
  }

  async step(): Promise<void> {
    const dice = this.#dice
    const operation = dice.pick(dice.chance(10) ? this.#conditional : this.#operations)
    const tenant = dice.pick(this.#tenants)
    const schema = bodySchemaOf(this.#document, operation)
    const isOwn = !dice.chance(3)
    const method = isOwn ? operation.method : dice.pick(["GET", "PUT", "POST", "PATCH", "OPTIONS"])
    const canHaveBody = method !== "GET" && (schema !== undefined || dice.chance(5))
    const body = canHaveBody ? bodyOf(this.#document, schema ?? {}, dice, tenant) : null
    const { isSpoilt, path } = this.#pathOf(operation, tenant)
    const url = this.#target.origin + path + this.#queryOf(operation.parameters, tenant)
    const headers = this.#headersOf(operation.parameters, tenant, canHaveBody)
    const shown = [url, ...headers, String(body)].map((part) => String(part).slice(0, 500))
    const what = `${method} ${shown.join(" ")}`
    const request = new Request(url, { method, headers, body })
    const response = await this.#target.send(request)
    const isStream = response.headers.get("content-type") === "text/event-stream"
    if (isStream) await response.body?.cancel()
    const text = isStream ? "" : await response.text()
    this.#learn(tenant, text)
    this.#forget(tenant, method, path, response.status)
    this.#judge(isOwn && !isSpoilt ? operation : undefined, response, text, what)
  }
}

/** Sends so many requests, a few at a time, and says what came of it. */
export const fuzz = async (
  document: Document,
  target: Target,
  options: {
    readonly count: number
    readonly seed: number
    readonly nodeTypes: ReadonlyArray<string>
  },
): Promise<Report> => {
  const round = new Fuzz(document, target, options.nodeTypes, options.seed)
  for (let sent = 0; sent < options.count; sent += 5) {
    await Promise.all(Array.from({ length: 5 }, () => round.step()))
  }
  return round
}
