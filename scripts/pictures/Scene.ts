/**
 * What the pictures show: an account with workflows, runs, deliveries and credits, on a real engine
 * whose time stands still, behind the real interface with the dashboard.
 *
 * Guarantees: all times and durations are the same every time. Leaves out: identifiers, which are
 * random; whoever takes a picture covers them.
 */
import type { WorkflowContent } from "@millrace/core/domain/Workflow"
import { readDashboardFile } from "@millrace/dashboard"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { DashboardFiles } from "@millrace/http/Dashboard"
import * as WebHandler from "@millrace/http/WebHandler"
import { Effect, Exit, Redacted, Scope } from "effect"
import type { StartRequest } from "millrace"
import { defineNode, toNodeHandler } from "millrace"
import { fails, gives, hangs } from "millrace/testing"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { z } from "zod"
import type { Made } from "../../packages/dashboard/test/browser/Pages.ts"
import { openTestEngine } from "../../packages/millrace/src/internal/testing/TestEngine.ts"
import { diamond } from "../../packages/server/src/internal/demo/Diamond.ts"
import { edge, node } from "../../packages/server/src/internal/demo/Drawing.ts"
import { hello } from "../../packages/server/src/internal/demo/Hello.ts"
import { orderDigest } from "../../packages/server/src/internal/demo/OrderDigest.ts"

const operatorToken = "operator-of-the-pictures-0123456789abcdef"
const receiver = "https://shop.example.com/hooks/millrace"

const orders: unknown = JSON.parse(
  readFileSync(new URL("../../packages/server/demo/orders.json", import.meta.url), "utf8"),
)

const classify = defineNode({
  type: "support.classify",
  title: "Classify",
  description: "Says what a message is about.",
  category: "support",
  icon: "tags",
  credits: 0.5,
  retry: { attempts: 3, initial: "1 second" },
  inputs: { text: z.string() },
  outputs: { topic: z.string() },
  run: () => ({ topic: "refund" }),
})

const reply = defineNode({
  type: "support.reply",
  title: "Reply",
  description: "Answers the customer.",
  category: "support",
  icon: "message-square",
  credits: 2,
  inputs: { topic: z.string(), text: z.string() },
  outputs: { sent: z.string() },
  run: () => ({ sent: "" }),
})

const triage = {
  name: "Support triage",
  description: "Sorts what customers write, and answers what is simple.",
  nodes: [
    node("request", "request", [0, 0], {
      fields: [{ name: "text", type: "string", default: "Where is my order?" }],
    }),
    node("classify", "support.classify", [1, 0]),
    node("reply", "support.reply", [2, 0]),
    node("response", "response", [3, 0]),
  ],
  edges: [
    edge("request.text", "classify.text"),
    edge("request.text", "reply.text"),
    edge("classify.topic", "reply.topic"),
    edge("reply.sent", "response.input"),
  ],
}

const failing = {
  name: "Failing",
  description: null,
  nodes: [node("bad", "fail", [0, 0], { message: "out of stock" })],
  edges: [],
}

const refund = {
  name: "Refund",
  description: "Asks before money goes back.",
  nodes: [
    node("ask", "approval", [0, 0], {
      title: "Refund 900 EUR?",
      description: "Order 1007 came back.",
      fields: [{ name: "amount", label: "Amount in EUR", type: "number", required: true }],
      approvers: "ann@example.com",
      roles: ["editor"],
      timeout: "3 days",
    }),
    node("response", "response", [1, 0]),
  ],
  edges: [edge("ask.approved", "response.input")],
}

const restock = {
  name: "Restock",
  description: "Says of each item what is left of it.",
  nodes: [
    node("items", "constant", [0, 0], {
      value: [
        { name: "Tea", left: 2 },
        { name: "Coffee", left: 40 },
        { name: "Cocoa", left: 7 },
      ],
    }),
    node("each", "for_each", [1, 0], { concurrency: 2, onError: "continue" }),
    {
      ...node("line", "transform", [1, 1], { template: "{{ input.name }}: {{ input.left }}" }),
      position: { x: 200, y: 220 },
      parentId: "each",
    },
    node("response", "response", [3, 0]),
  ],
  edges: [
    edge("items.output", "each.items"),
    edge("each.item", "line.input"),
    edge("each.results", "response.input"),
  ],
}

const open = () => {
  let answers = 0
  return openTestEngine({
    now: "2026-03-02T08:00:00Z",
    nodes: [classify, reply],
    mocks: {
      http_request: gives({
        response: { status: 200, headers: { "content-type": "application/json" } },
        body: orders,
      }).after(640),
      "support.classify": fails(1, "the model is overloaded").gives({ topic: "refund" }).after(850),
      // The last of its calls goes on.
      "support.reply": async ({ signal }) => {
        answers += 1
        if (answers < 3) return { sent: "We are on it." }
        return await new Promise((_, reject) => signal.addEventListener("abort", reject))
      },
    },
    receivers: {
      [receiver]: fails(1).gives(204),
      "https://old.example.com/hook": hangs(),
    },
    patience: 50,
  })
}

type Drawn = Pick<WorkflowContent, "description" | "edges" | "name" | "nodes">

type Engine = Awaited<ReturnType<typeof open>>["engine"]

/** Fills the account of the engine; what the pages of one workflow and one run are about. */
const furnish = async (engine: Engine) => {
  const { clock, credits, keys, runs, secrets, sessions, triggers, webhooks, workflows } = engine
  const make = async ({ description, edges, name, nodes }: Drawn) => {
    await clock.advance("7 minutes")
    return (await workflows.create({ name, description, nodes, edges })).id
  }
  await credits.grant({ actor: "ada", reason: "welcome", amount: 50 })
  const digestId = await make(orderDigest)
  const diamondId = await make(diamond)
  const helloId = await make(hello)
  const triageId = await make(triage)
  const failingId = await make(failing)
  const refundId = await make(refund)
  const start = async (workflowId: string, values: StartRequest["values"] = {}) => {
    const { id } = await runs.start({
      workflowId,
      values,
      webhook: { url: receiver, events: ["run.completed", "run.failed"] },
    })
    await clock.advance("5 minutes")
    return id
  }
  await secrets.set({ name: "API_KEY", value: "sk-123456", hosts: ["api.example.com"] })
  await secrets.set({ name: "SHOP", value: "shop-987654", hosts: ["shop.example.com"] })
  await keys.create({ label: "production", perMinute: 600 })
  await keys.create({ label: "nightly import", expiresAt: "2026-06-30T00:00:00Z" })
  await triggers.create(failingId, {
    type: "schedule",
    cron: "30 7 * * 1-5",
    timezone: "Europe/Berlin",
  })
  await triggers.create(failingId, { type: "webhook" })
  const digestRun = await start(digestId)
  await start(helloId, { name: "Ada" })
  await start(diamondId, { amount: 20 })
  const failedRun = await start(failingId)
  await start(triageId)
  await start(triageId)
  const liveRun = await start(triageId)
  const askingRun = (await runs.start({ workflowId: refundId })).id
  const { id: laterRun } = await runs.start({
    workflowId: helloId,
    startAt: "2026-03-03T06:00:00Z",
    priority: 5,
    concurrencyKey: "acme",
  })
  const { description, edges, name, nodes } = restock
  const { id: restockId } = await workflows.create({ name, description, nodes, edges })
  const loopRun = (await runs.start({ workflowId: restockId })).id
  await webhooks.test({ url: receiver })
  await webhooks.test({ url: "https://old.example.com/hook" })
  await clock.advance("3 minutes")
  await sessions.create({ role: "viewer", expiresIn: "5 days" })
  await engine.accounts.create({ name: "Blue Bottle Books" })
  return {
    id: failingId,
    runId: failedRun,
    digestId,
    digestRun,
    diamondId,
    triageId,
    liveRun,
    askingRun,
    laterRun,
    restockId,
    loopRun,
  }
}

/** What is served, and by whom it is seen. */
export interface Scene {
  readonly origin: string
  readonly now: Date
  readonly account: string
  /** Signs an operator in. */
  readonly cookie: string
  readonly made: Made &
    Record<
      | "askingRun"
      | "diamondId"
      | "digestId"
      | "digestRun"
      | "laterRun"
      | "liveRun"
      | "loopRun"
      | "restockId"
      | "triageId",
      string
    >
  readonly close: () => Promise<void>
}

const signIn = async (origin: string) => {
  const answer = await fetch(`${origin}/api/console/v1/sign-in`, {
    method: "POST",
    body: JSON.stringify({ operatorToken }),
    headers: { "content-type": "application/json", origin },
  })
  return answer.headers.get("set-cookie")!.split(";")[0]!
}

/** Opens the scene on a free port. */
export const openScene = async (): Promise<Scene> => {
  const { engine, host } = await open()
  const made = await furnish(engine)
  const scope = Scope.makeUnsafe()
  const handler = await host.runtime.call(
    WebHandler.make().pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.provideService(AdminToken, Redacted.make(operatorToken)),
      Effect.provideService(DashboardFiles, (path) =>
        Effect.promise(() => readDashboardFile(path)),
      ),
    ),
  )
  const server = createServer(toNodeHandler(handler)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    made,
    now: engine.clock.now(),
    account: engine.accountId,
    cookie: await signIn(origin),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await engine.close()
    },
  }
}
