/**
 * An example of every body of the operations on triggers, for the readers of the OpenAPI document.
 */

const at = "2026-01-02T10:00:00.000Z"

const later = "2026-01-02T11:00:00.000Z"

const triggerItem = {
  id: "trg_0199d2ca-5b1e-7d20-a6f1-8c2e9b7d0f34",
  type: "schedule",
  cron: "0 30 9 * * MON-FRI",
  everySeconds: null,
  timezone: "Europe/Berlin",
  startAt: null,
  endAt: null,
  values: {},
  version: null,
  enabled: true,
  catchUp: "last",
  overlap: "skip",
  jitterSeconds: 0,
  webhook: {
    url: "https://example.com/hooks/flows",
    events: ["schedule.missed", "run.failed"],
    metadata: null,
  },
  createdAt: at,
  updatedAt: at,
  nextAt: "2026-01-05T08:30:00.000Z",
  waitingAt: null,
  lastAt: null,
  lastRunId: null,
  missed: 0,
  lastMissedAt: null,
  lastError: null,
}

const trigger = {
  ...triggerItem,
  nextTimes: ["2026-01-05T08:30:00.000Z", "2026-01-06T08:30:00.000Z"],
}

const schedule = {
  cron: "0 30 9 * * MON-FRI",
  timezone: "Europe/Berlin",
  catchUp: "last",
  overlap: "skip",
  webhook: { url: "https://example.com/hooks/flows", events: ["schedule.missed", "run.failed"] },
}

const webhook = {
  id: trigger.id,
  type: "webhook",
  methods: ["POST"],
  verify: {
    type: "hmac",
    secret: "GITHUB_WEBHOOK",
    header: "x-hub-signature-256",
    prefix: "sha256=",
  },
  networks: null,
  respond: "at_once",
  into: { event: "headers.x-github-event", repository: "body.repository.full_name" },
  dedupeHeader: "x-github-delivery",
  dedupeBy: null,
  values: {},
  version: null,
  webhook: null,
  enabled: true,
  createdAt: trigger.createdAt,
  updatedAt: trigger.updatedAt,
  path: "/hooks/mrh_0L3vTq0bXwYh8jN2c1sZk4vTq0bXwYh8jNltydW5zIix7fV0",
}

const testPath = "/hooks/mrt_0L3vTq0bXwYh8jN2c1sZk4vTq0bXwYh8jNltydW5zIix7fV0"

const webhookTest = {
  expiresAt: later,
  requests: [
    {
      at,
      method: "POST",
      query: "",
      headers: { "content-type": "application/json", "x-hub-signature-256": "(not kept)" },
      body: '{"order":7}',
      values: { order: 7 },
      refused: null,
    },
  ],
}

/** The examples by the identifiers of the operations, of triggers of this workflow. */
export const examplesOfTriggers = (workflowId: string) => {
  const [shown, hook] = [
    { ...trigger, workflowId },
    { ...webhook, workflowId },
  ]
  return {
    "triggers.list": { response: { items: [{ ...triggerItem, workflowId }] } },
    "triggers.create": { request: { type: "schedule", ...schedule }, response: shown },
    "triggers.get": { response: shown },
    "triggers.update": {
      request: { enabled: false },
      response: { ...shown, enabled: false, nextAt: null, nextTimes: [] },
    },
    "triggers.readdress": { response: hook },
    "triggers.beginTest": { response: { ...webhookTest, requests: [], path: testPath } },
    "triggers.readTest": { response: webhookTest },
    "triggers.paused": { response: { pausedAt: null } },
    "triggers.pause": { response: { pausedAt: later } },
    "triggers.resume": { response: { pausedAt: null } },
  }
}
