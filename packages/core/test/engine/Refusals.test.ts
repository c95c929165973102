// What the engine says when it refuses.
import { problemsShown } from "@millrace/core/domain/Limits"
import * as Refusals from "@millrace/core/engine/Refusals"
import { assert, describe, it } from "@effect/vitest"

describe("a refused graph", () => {
  const named = (count: number) =>
    new Refusals.InvalidGraph({ problems: Array.from({ length: count }, (_, n) => `p${n}`) })
      .message

  it("names every problem, up to as many as a sentence holds, and counts the others", () => {
    assert.strictEqual(named(2), "p0; p1")
    const most = named(problemsShown)
    assert.isTrue(most.endsWith(`; p${problemsShown - 1}`))
    assert.strictEqual(named(problemsShown + 3), `${most}; and 3 more`)
  })
})

describe("a refusal", () => {
  it("says what it is about, what stands against it, and what to do", () => {
    const runId = "run_1"
    const said = [
      new Refusals.WorkflowNotFound({ workflowId: "a b" }),
      new Refusals.RunNotFound({ runId }),
      new Refusals.NotInQuarantine({ runId }),
      new Refusals.RevisionMismatch({ workflowId: "wf_1", revision: 4 }),
      new Refusals.TooManyChanges({ workflowId: "wf_1" }),
      new Refusals.BeyondMaxCredits({ required: 3_500_000, maxCredits: 2_000_000 }),
      new Refusals.RunsFull({ reason: "the account is busy", retryAfterSeconds: 1 }),
      new Refusals.QueueFull({ limit: 100_000, retryAfterSeconds: 1 }),
      new Refusals.DeliveryNotFound({ deliveryId: "msg_1" }),
      new Refusals.IdempotencyKeyTaken({ runId }),
      new Refusals.InvalidMessage({ problem: "its name is empty" }),
      new Refusals.InboxFull({ runId }),
      new Refusals.SignalsFull({ workflowId: "wf_1" }),
      new Refusals.RunEnded({ runId, status: "FAILED" }),
    ].map(({ message }) => message)
    assert.deepStrictEqual(said, [
      'Workflow "a b" does not exist',
      "Run run_1 does not exist",
      "Run run_1 is not in quarantine: it has made progress, has ended, or never was in quarantine",
      "Workflow wf_1 was changed meanwhile; it is at revision 4",
      "Too many callers change workflow wf_1 at once; try again",
      "The run requires 3.5 credits, and its maxCredits is 2",
      "The run would have to wait: the account is busy; start it again later, or let it wait",
      "The account has 100000 runs that wait, which is the limit; start this one later",
      "Delivery msg_1 does not exist",
      "The idempotency key was used for another start before",
      "The message was not sent: its name is empty",
      "Run run_1 has 100 messages that no node has taken; send this one again once a node has " +
        "taken one",
      "Workflow wf_1 has 1000 signals that no run waits for; send this one again once a run has " +
        "taken one",
      "Run run_1 has already ended: FAILED",
    ])
  })
})
