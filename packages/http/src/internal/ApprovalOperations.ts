/**
 * The operations on approvals: what waits in an account's runs, and decisions of callers.
 */
import type { ApprovalItem, ApprovalRead } from "@millrace/api/ApprovalWire"
import { approvalNodeOf, approvalStateOf } from "@millrace/core/domain/Approval"
import { RunId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import type { Approval } from "@millrace/core/engine/Approvals"
import { Approvals, CurrentApprovalPage } from "@millrace/core/engine/Approvals"
import { Effect, Redacted } from "effect"
import { approvalsPath } from "../Addresses.ts"
import type { Input, OperationsOf } from "./Operation.ts"
import { makeListRuns } from "./RunListing.ts"
import * as SessionListing from "./SessionListing.ts"

/** What waits in a run. */
const itemsOf = ({ id: runId, waiting, workflowId, workflowName }: Run) =>
  waiting.flatMap(({ for: name, state: kept }): ReadonlyArray<ApprovalItem> => {
    const [nodeId, state] = [approvalNodeOf(name), approvalStateOf(kept)]
    if (nodeId === undefined || state === undefined) return []
    const { askedAt, expiresAt, roles, title } = state
    const approvers = state.approvers.map(({ address, mails, version }) => ({
      address,
      mails,
      version,
    }))
    const of = { runId, nodeId, workflowId, workflowName }
    return [{ ...of, title, askedAt, expiresAt, approvers, roles }]
  })

const readOf = ({ decision, form, run, state, ...rest }: Approval): ApprovalRead => {
  const { description, nodeId, status, title } = rest
  return {
    runId: run.id,
    nodeId,
    workflowId: run.workflowId,
    workflowName: run.workflowName,
    status,
    title,
    description,
    fields: form,
    askedAt: state?.askedAt ?? null,
    expiresAt: state?.expiresAt ?? null,
    approvers: (state?.approvers ?? []).map(({ address, mails, version }) => ({
      address,
      mails,
      version,
    })),
    roles: state?.roles ?? [],
    decision: decision ?? null,
  }
}

/** Who decides, as a caller or a session says it. */
const deciderOf = ({ name, payload: { by }, session }: Input<"approvals", "decide">) =>
  session === undefined
    ? { by: by ?? "the application", via: "caller" as const }
    : {
        by: name ?? by ?? `a session of the role ${session.role}`,
        via: "session" as const,
        role: session.role,
      }

/** The operations of the group `approvals`. */
export const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const list = yield* makeListRuns
  const page = yield* CurrentApprovalPage
  return {
    list: ({ account, query, session }) => {
      const running = { ...query, status: "RUNNING" as const, roots: "false" as const }
      const seen = SessionListing.seenBy(session)
      return Effect.map(list(account, running, seen), ({ items, nextCursor }) => ({
        value: { items: items.flatMap(itemsOf), nextCursor },
      }))
    },
    get: ({ account, params: { id, nodeId } }) =>
      Effect.map(approvals.find(account, RunId.make(id), nodeId), (found) => ({
        value: readOf(found),
      })),
    decide: (input) => {
      const { account, params, payload } = input
      const { by: _, ...answer } = payload
      const decision = { ...answer, ...deciderOf(input) }
      return Effect.map(
        approvals.decide(account, RunId.make(params.id), params.nodeId, decision),
        (value) => ({ value }),
      )
    },
    link: ({ account, params: { id, nodeId }, payload: { address } }) =>
      Effect.map(approvals.tokenFor(account, RunId.make(id), nodeId, address), ({ token }) => {
        const behind = `#${Redacted.value(token)}`
        const url = page === undefined ? null : `${page}${behind}`
        return { value: { path: `${approvalsPath}${behind}`, url } }
      }),
  } satisfies OperationsOf<"approvals">
})
