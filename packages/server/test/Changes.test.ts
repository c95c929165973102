/**
 * Many changes of one workflow at once, as clients meet them: over one server and over two on one
 * Postgres.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
const origins: Array<string> = []
let postgres: PostgresServer
let authorization = ""

beforeAll(async () => {
  postgres = await PostgresServer.create()
  // Longer than a busy machine takes; changes that wait for each other in turn take longer still.
  const env = { DATABASE_URL: postgres.url, MILLRACE_REQUEST_TIMEOUT: "8s" }
  const create = ["keys", "create", "--label", "one", "--per-minute", "10000"]
  const keys = workshop.start([...create, "--per-day", "100000"], env)
  expect((await keys.ended).code).toBe(0)
  authorization = `Bearer ${keys.stdout.trim()}`
  for (const _ of [1, 2]) {
    const server = workshop.start(["serve", "--port", "0"], env)
    const [, origin = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
    origins.push(origin)
  }
})
afterAll(() => postgres.remove())

interface Answer {
  readonly status: number
  /** Of the workflow. */
  readonly revision: number
  readonly body: { readonly id: string; readonly error?: string }
}

const send = async (
  origin: string,
  method: string,
  path: string,
  json?: object,
): Promise<Answer> => {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  })
  const { headers, status } = response
  const revision = Number(headers.get("etag")?.replaceAll('"', ""))
  return { status, revision, body: (await response.json()) as Answer["body"] }
}

/** Renames a new workflow so often at once, each time otherwise, over these servers in turn. */
const rename = async (count: number, servers: ReadonlyArray<string>) => {
  const first = { name: "first", nodes: [], edges: [] }
  const { id } = (await send(servers[0]!, "POST", "/workflows", first)).body
  const answers = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      send(servers[n % servers.length]!, "PATCH", `/workflows/${id}`, { name: `name ${n}` }),
    ),
  )
  const stored = await send(servers[0]!, "GET", `/workflows/${id}`)
  return {
    made: answers.filter(({ status }) => status === 200),
    refused: answers.filter(({ status }) => status !== 200),
    stored,
  }
}

/** Each of them moved the revision by one, and what the last one made is what is stored. */
const expectCounted = (made: ReadonlyArray<Answer>, stored: Answer) => {
  const inOrder = made.toSorted((left, right) => left.revision - right.revision)
  expect(inOrder.map(({ revision }) => revision)).toEqual(made.map((_, n) => n + 2))
  expect(stored).toEqual(inOrder.at(-1))
}

describe("changes of one workflow at once", () => {
  it("are all made by one server, in turn, each with a revision of its own", async () => {
    const { made, refused, stored } = await rename(300, origins.slice(0, 1))
    expect(refused).toEqual([])
    expectCounted(made, stored)
  })

  it("are made by two servers or refused with 409; the revision counts those made", async () => {
    const { made, refused, stored } = await rename(300, origins)
    for (const { body, status } of refused) {
      expect([status, body.error]).toEqual([409, expect.stringContaining("try again")])
    }
    expect(made.length).toBeGreaterThan(0)
    expectCounted(made, stored)
  })
})
