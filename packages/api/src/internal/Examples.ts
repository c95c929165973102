/**
 * An example of every body, for the readers of the OpenAPI document.
 *
 * Guarantees: tests check each against its schema. Errors have one example per status.
 */

import { examplesOfTriggers } from "./TriggerExamples.ts"
import { examplesOfVersions } from "./VersionExamples.ts"

/** The bodies of one operation. */
export interface Example {
  readonly request?: unknown
  readonly response?: unknown
}

const workflowId = "wf_0199d2c8-7e1f-7c3a-9d42-3f5b8a6e1c07"
const runId = "run_0199d2c9-11aa-7b90-8c55-2d1e7f9a4b63"
const at = "2026-01-05T09:30:00.000Z"
const later = "2026-01-05T09:30:00.412Z"

const say = {
  id: "say",
  type: "constant",
  position: { x: 40, y: 40 },
  data: { inputs: { value: "Hello" } },
}
const answer = { id: "answer", type: "response", position: { x: 400, y: 40 } }
const edge = { id: "e1", source: "say", target: "answer" }

const content = { name: "Hello", nodes: [say, answer], edges: [edge] }

const workflow = {
  id: workflowId,
  name: "Hello",
  description: null,
  thumbnailUrl: null,
  nodes: [say, answer],
  edges: [edge],
  settings: {},
  updatedAt: at,
}

const workflowItem = {
  id: workflowId,
  name: "Hello",
  description: null,
  thumbnailUrl: null,
  updatedAt: at,
  nodeCount: 2,
  revision: 3,
}

const runItem = {
  id: runId,
  workflowId,
  workflowName: "Hello",
  status: "COMPLETED",
  mode: "full",
  startedAt: at,
  finishedAt: later,
  createdAt: at,
  error: null,
  estimatedCredits: 0,
  actualCredits: 0,
  nodeRunCount: 2,
  source: "api",
}

const nodeRun = {
  nodeId: "say",
  nodeType: "constant",
  status: "COMPLETED",
  input: { value: "Hello" },
  output: { output: "Hello" },
  logs: null,
  error: null,
  startedAt: at,
  finishedAt: at,
  attempt: 1,
  credits: 0,
  dueAt: null,
  skipReason: null,
}

const runDetail = {
  id: runId,
  status: "COMPLETED",
  workflowId,
  triggerRunId: "exe_0199d2c9-11ab-7d02-a1c4-5e6f70819a2b",
  createdAt: at,
  startedAt: at,
  finishedAt: later,
  error: null,
  context: { values: {}, output: "Hello", viewport: null, workflowRevision: 1 },
  nodeRuns: [nodeRun],
}

const nodeType = {
  key: "constant",
  version: 1,
  deprecated: null,
  name: "Constant",
  description: "Hands on the value it was given.",
  category: "data",
  icon: "variable",
  docs: null,
  modes: [],
  inputPorts: [{ name: "value", required: true, multiple: false, schema: {} }],
  outputPorts: [{ name: "output", schema: {} }],
  origin: "built-in",
  creditEstimate: 0,
  effects: "none",
  example: { inputs: { value: "Hello" }, outputs: { output: "Hello" } },
  creditsByMode: {},
}

const cursor = "mR2c1sZk4vTq0bXwYh8jNltydW5zIix7fV0"

const ofWorkflows: Readonly<Record<string, Example>> = {
  "workflows.list": { response: { items: [workflowItem], nextCursor: null } },
  "workflows.create": { request: content, response: workflow },
  "workflows.get": { response: workflow },
  "workflows.update": { request: { name: "Hello" }, response: workflow },
  "workflows.remove": {},
  "workflows.duplicate": { response: { ...workflow, name: "Hello (copy)" } },
  "workflows.addNode": {
    request: { nodeType: "constant", column: 1, inputs: { value: "Hello" } },
    response: {
      nodeId: "constant_1",
      type: "constant",
      position: { x: 400, y: 40 },
      inputPorts: ["value"],
      outputPorts: ["output"],
      inputsSet: ["value"],
    },
  },
  "workflows.validate": {
    request: { values: {} },
    response: {
      valid: false,
      problems: [
        {
          message: 'Node "say": required input "value" has neither a value nor an edge',
          nodeId: "say",
          port: "value",
        },
      ],
      warnings: [],
      estimatedCredits: null,
      nodes: [
        {
          nodeId: "say",
          inputPorts: [{ name: "value", required: true, multiple: false, schema: {} }],
          outputPorts: [{ name: "output", schema: {} }],
          estimatedCredits: 0,
          names: ["values", "run"],
        },
      ],
    },
  },
  "workflows.evaluate": {
    request: { runId: runItem.id, nodeId: "say", text: "{{ values.name.toUpperCase() }}" },
    response: { value: "ADA", problems: [] },
  },
}

const ofRuns: Readonly<Record<string, Example>> = {
  "runs.list": { response: { items: [runItem], nextCursor: cursor } },
  "runs.start": { request: { workflowId, values: {} }, response: { runId } },
  "runs.estimate": {
    request: { workflowId, values: {} },
    response: {
      problems: [],
      estimatedCredits: 0,
      nodes: [
        { nodeId: "say", nodeType: "constant", credits: 0 },
        { nodeId: "answer", nodeType: "response", credits: 0 },
      ],
    },
  },
  "runs.rerun": { request: { from: ["say"] }, response: { runId } },
  "runs.rerunFailed": {
    request: { workflowId, error: "the bank is closed" },
    response: {
      started: [{ runId: `${runId}-r1`, rerunOf: runId }],
      leftOut: [],
      nextCursor: null,
    },
  },
  "runs.planRerun": {
    request: { definition: "current" },
    response: {
      problems: [],
      estimatedCredits: 0,
      nodes: [{ nodeId: "answer", nodeType: "response", credits: 0 }],
      anew: [{ nodeId: "answer", reason: "unfinished", because: "FAILED" }],
      takenOver: ["say"],
    },
  },
  "runs.batch": { request: { ids: [runId] }, response: { runs: [runDetail] } },
  "runs.value": { response: ["a", "large", "value"] },
  "runs.node": { response: nodeRun },
  "runs.items": {
    response: {
      items: [
        {
          index: 0,
          runId,
          status: "COMPLETED",
          output: "Hello, Ada",
          error: null,
          startedAt: runItem.startedAt,
          finishedAt: runItem.finishedAt,
        },
      ],
      nextCursor: cursor,
    },
  },
  "runs.definition": {
    response: {
      workflowId,
      workflowName: "Hello",
      workflowRevision: 1,
      viewport: null,
      nodes: [say, answer],
      edges: [edge],
      settings: {},
      ports: [
        {
          nodeId: "say",
          inputPorts: [{ name: "value", required: true, multiple: false, schema: {} }],
          outputPorts: [{ name: "output", schema: {} }],
        },
      ],
    },
  },
  "runs.get": { response: { ...runItem, ...runDetail } },
  "runs.events": {},
  "runs.live": {},
  "workflows.live": {},
  "runs.cancel": {
    response: { ...runItem, status: "CANCELED", nodeRunCount: 1 },
  },
  "workflows.signal": {
    request: { correlation: "order 17", payload: { amount: 120 } },
    response: { runId },
  },
  "runs.signal": {
    request: { payload: { approved: true, by: "ada" } },
    response: { runId, number: 1 },
  },
}

const sums = { runs: 12, estimatedCredits: 30, actualCredits: 27.5 }

const usage = {
  balance: { metered: true, posted: 472.5, reserved: 5, available: 467.5 },
  from: "2026-01-01",
  to: "2026-01-30",
  days: [{ day: "2026-01-05", ...sums }],
  workflows: [{ workflowId, workflowName: "Hello", ...sums }],
  keys: [{ keyId: "key_0199d2c7-9b20-7f11-8a3e-6d5c4b3a2910", ...sums }],
}

const deliveryItem = {
  id: "msg_0199d2c9-11aa-7b90-8c55-2d1e7f9a4b63_000004",
  runId,
  sequence: 4,
  type: "run.completed",
  url: "https://example.com/hooks/flows",
  state: "DELIVERED",
  attempts: 1,
  nextAttemptAt: null,
  createdAt: later,
  settledAt: later,
}

const attempt = {
  number: 1,
  at: later,
  durationMillis: 87,
  status: 204,
  error: null,
  answer: "",
  nextAt: null,
}

const approvalItem = {
  runId,
  nodeId: "ask",
  workflowId,
  workflowName: "Refunds",
  title: "Refund of 900 EUR to Globex?",
  askedAt: at,
  expiresAt: at,
  approvers: [{ address: "ann@example.com", mails: 1, version: 0 }],
  roles: ["editor"],
}

const decision = {
  outcome: "approved",
  by: "ann@example.com",
  via: "caller",
  at,
  comment: "As agreed",
  fields: { amount: 900 },
}

const ofApprovals: Readonly<Record<string, Example>> = {
  "approvals.list": { response: { items: [approvalItem], nextCursor: null } },
  "approvals.get": {
    response: {
      ...approvalItem,
      status: "pending",
      description: "Order 1007 came back.",
      fields: [{ name: "amount", type: "number", required: true }],
      decision: null,
    },
  },
  "approvals.decide": {
    request: {
      outcome: "approved",
      by: "ann@example.com",
      comment: "As agreed",
      fields: { amount: 900 },
    },
    response: decision,
  },
  "approvals.link": {
    request: { address: "ann@example.com" },
    response: {
      path: "/approvals/#mra_W10.c2ln",
      url: "https://flows.example.com/approvals/#mra_W10.c2ln",
    },
  },
}

const ofDeliveries: Readonly<Record<string, Example>> = {
  "deliveries.list": { response: { items: [deliveryItem], nextCursor: cursor } },
  "deliveries.listAll": { response: { items: [deliveryItem], nextCursor: null } },
  "deliveries.redeliverFailed": { request: { since: at }, response: { count: 3 } },
  "deliveries.get": {
    response: { ...deliveryItem, body: '{"success":true,"type":"..."}', attemptLog: [attempt] },
  },
  "deliveries.redeliver": {
    response: { ...deliveryItem, state: "PENDING", nextAttemptAt: later, settledAt: null },
  },
}

/** The examples of every operation, by its identifier. */
export const examples: Readonly<Record<string, Example>> = {
  ...ofWorkflows,
  ...examplesOfVersions(workflow),
  ...examplesOfTriggers(workflowId),
  ...ofRuns,
  "usage.read": { response: usage },
  ...ofApprovals,
  ...ofDeliveries,
  "nodeTypes.list": { response: { items: [nodeType] } },
}

const frame = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** Examples of event streams, by the operation. */
export const streamExamples: Readonly<Record<string, string>> = {
  "runs.events":
    frame("snapshot", { sequence: 1, run: { id: runId } }) +
    `id: 1\n${frame("run.started", {
      sequence: 1,
      type: "run.started",
      success: true,
      runId,
      workflowId,
      data: { status: "RUNNING", sequence: 1 },
      error: null,
      createdAt: at,
    })}`,
  "runs.live":
    frame("page", { items: [runItem], nextCursor: null }) +
    frame("run", { ...runItem, status: "CANCELED" }),
  "workflows.live":
    frame("presence", {
      people: [
        { name: "Ada", role: "editor", tabs: 1, isSelf: true },
        { name: null, role: "viewer", tabs: 1, isSelf: false },
      ],
      more: 0,
    }) + frame("revision", { etag: '"7"', savedBy: null }),
}

/** A sentence and a machine code, by status. */
export const errorExamples: Readonly<Record<string, readonly [error: string, code: string]>> = {
  "400": ["nodes[3].position.x: expected a number", "invalid_request"],
  "401": ["API key is missing, invalid or expired", "key_refused"],
  "402": ["The run requires 2 credits, and 0.5 are available", "insufficient_credits"],
  "403": ["Starting runs needs the role editor; this session has the role viewer", "forbidden"],
  "404": ["The workflow does not exist", "workflow_not_found"],
  "409": ["Run run_0199d2c9 has already ended: COMPLETED", "run_ended"],
  "412": ["Workflow wf_0199d2c8 was changed meanwhile; it is at revision 7", "revision_mismatch"],
  "413": ["The body is larger than 1048576 bytes", "body_too_large"],
  "415": ["Content-Type must be application/json", "unsupported_media_type"],
  "429": ["The rate limit of the API key is exceeded; retry in 12 s", "limit_exceeded"],
  "500": ["Internal error", "internal_error"],
  "503": ["The store is unavailable; try again", "store_unavailable"],
}
