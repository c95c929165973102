// A run that asks two people, for the tests of approvals.
import type { ApprovalMessage, ApprovalState } from "@millrace/core/domain/Approval"
import { approvalMessage, approvalStateOf, approvalType } from "@millrace/core/domain/Approval"
import { Json } from "@millrace/core/domain/Json"
import { format } from "@millrace/core/domain/Timestamp"
import type { CallerDecision } from "@millrace/core/engine/Approvals"
import { Approvals } from "@millrace/core/engine/Approvals"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { Vault } from "@millrace/core/ports/Vault"
import { manifest } from "@millrace/memory/Stores"
import { Clock, Context, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { ApprovalPlace } from "../../src/engine/internal/ApprovalTokens.ts"
import { layerLinks, make as makeTokens } from "../../src/engine/internal/ApprovalTokens.ts"
import { account, boot, digest, edge, node, start, types } from "./TestEngine.ts"

export const ann = "ann@example.com"
export const bob = "bob@example.com"

/** What a test asks with, beside the usual. */
interface Asked {
  readonly timeout?: number
  readonly roles?: ReadonlyArray<string>
  readonly delegation?: boolean
  readonly title?: Json
  readonly description?: string
  readonly fields?: Json
}

/** Asks Ann and Bob; the mails and their times are left out. */
const ask = define({
  key: approvalType,
  inputs: {
    title: Json,
    description: Schema.optionalKey(Json),
    input: Schema.optionalKey(Json),
    fields: Schema.optionalKey(Json),
    timeout: Schema.optionalKey(Schema.Int),
    roles: Schema.Array(Schema.Literals(["viewer", "editor", "owner"])),
    delegation: Schema.Boolean,
  },
  outputs: {
    approved: Schema.optionalKey(Json),
    rejected: Schema.optionalKey(Json),
    expired: Schema.optionalKey(Json),
  },
  run: Effect.fnUntraced(function* ({ delegation, roles, timeout }) {
    const { approvalLink, message, nodeId, resumed, suspend } = yield* CurrentNode
    const before = approvalStateOf(resumed)
    const approverOf = (approver: number, address: string, version: number) =>
      Effect.map(approvalLink({ approver, version, tokenHash: null }), ({ tokenHash }) => ({
        address,
        version,
        tokenHash,
        mails: 0,
        tries: 0,
      }))
    const wait = (state: ApprovalState) => {
      const until = state.expiresAt === null ? {} : { until: state.expiresAt }
      return suspend({ for: approvalMessage(nodeId), ...until }, state)
    }
    if (before === undefined) {
      const now = yield* Clock.currentTimeMillis
      return yield* wait({
        asks: approvalType,
        title: "",
        askedAt: now,
        expiresAt: timeout === undefined ? null : now + timeout,
        mailAt: null,
        reminders: 0,
        waitsUntil: null,
        approvers: [yield* approverOf(0, ann, 0), yield* approverOf(1, bob, 0)],
        roles,
        mayDelegate: delegation,
      })
    }
    if (message === undefined) return { expired: {} }
    const said = message.payload as unknown as ApprovalMessage
    if (said.says === "decided") {
      const { says: _, ...decision } = said
      return { [said.outcome]: { ...decision, at: format(message.at) } }
    }
    const version = before.approvers[said.approver]!.version + 1
    const after = yield* approverOf(said.approver, said.to, version)
    const approvers = before.approvers.map((each, at) => (at === said.approver ? after : each))
    return yield* wait({ ...before, approvers })
  }),
})

/** Signs with a key that is there as long as the test wants it. */
const vaultOf = (state: { key: string }) =>
  Effect.map(Effect.provide(Vault, Vault.layerClosed), (closed) => ({
    ...closed,
    sign: (purpose: string, text: string) =>
      Effect.sync(() => [`${state.key}-${purpose}-${text.length}`]),
  }))

export type Store = RunStore["Service"]

/**
 * A process with a run that asks. What a test changes of the store holds for `Approvals` alone;
 * `state` counts how often the process looked for runs.
 */
export const scene = Effect.fnUntraced(function* (asked: Asked = {}, behind = false) {
  const state = { key: "key", looks: 0, store: {} as Partial<Store> }
  const store = yield* RunStore
  const vault = yield* vaultOf(state)
  const wakeups = {
    announce: Effect.sync(() => void (state.looks += 1)),
    listen: () => Effect.void,
    isHeard: () => false,
  }
  const { context, stop } = yield* boot([...types, ask]).pipe(
    Effect.provide(layerLinks),
    Effect.provideService(Vault, vault),
    Effect.provide(digest),
    Effect.provideService(StoreManifest, { ...manifest, wakeups }),
  )
  const changed: Store = {
    ...store,
    inboxes: (...given) => (state.store.inboxes ?? store.inboxes)(...given),
    send: (...given) => (state.store.send ?? store.send)(...given),
  }
  const approvals = yield* Effect.provide(Approvals, Approvals.layer).pipe(
    Effect.provideContext(Context.add(context, RunStore, changed)),
    Effect.provideService(Vault, vault),
    Effect.provide(digest),
  )
  const tokens = yield* makeTokens.pipe(Effect.provideService(Vault, vault), Effect.provide(digest))
  const inputs = { title: "Sure?", roles: ["editor"], delegation: true, ...asked }
  const { id } = yield* start(
    [node("ask", approvalType, inputs), node("other", behind ? "gate" : "pass")],
    behind ? [edge("other", "ask.input")] : [],
  ).pipe(Effect.provideContext(context))
  yield* TestClock.adjust(1)
  const decide = (decision: Partial<CallerDecision> = {}) =>
    approvals.decide(account, id, "ask", {
      outcome: "approved",
      by: "ada",
      via: "caller",
      ...decision,
    })
  const tokenOf = (address: string) =>
    Effect.map(approvals.tokenFor(account, id, "ask", address), ({ token }) => token)
  const own = { accountId: account, runId: id, nodeId: "ask", approver: 0, version: 0 }
  const tokenAt = (place: Partial<ApprovalPlace>) =>
    Effect.map(tokens.make({ ...own, ...place }), ({ token }) => token)
  const find = approvals.find(account, id, "ask")
  const { cancel } = Context.get(context, Runs)
  return { approvals, cancel, decide, find, id, state, stop, store, tokenAt, tokenOf }
})

/** Lets the process take messages and go on. */
export const soon = Effect.repeat(TestClock.adjust(1), { times: 2 })
