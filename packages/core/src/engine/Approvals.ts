/**
 * Approvals of runs: what each asks, and decisions, by people with a link or by callers.
 *
 * Guarantees: of all decisions on an approval exactly one counts, the one that is stored first; all
 * others are told of it. A decision that comes after the expiry counts for nobody. A token that is
 * wrong, foreign or malformed is like any other text. Leaves out: asking, which the node does.
 */
import { Clock, Context, Effect, Layer, Option, type Redacted } from "effect"
import type { Digest } from "effect/crypto"
import type {
  Answer,
  ApprovalMessage,
  ApprovalState,
  Approver,
  Decision,
  DecisionVia,
  FormField,
} from "../domain/Approval.ts"
import {
  approvalMessage,
  approvalStateOf,
  approvalType,
  decisionIn,
  filledIn,
  isApproverAddress,
  FormFields,
  problemOfAnswer,
} from "../domain/Approval.ts"
import type { AccountId, RunId } from "../domain/Id.ts"
import { delegationsPerApprover, messagesPerRun } from "../domain/Limits.ts"
import type { NewMessage } from "../domain/Message.ts"
import type { NodeRun, Run, RunRecord } from "../domain/Run.ts"
import { isNodeTerminal, nodeRunsOf } from "../domain/Run.ts"
import type { Role } from "../domain/Session.ts"
import { isAtLeast } from "../domain/Session.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { format } from "../domain/Timestamp.ts"
import type { SendResult } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import type { Vault, VaultClosed } from "../ports/Vault.ts"
import type { ApprovalToken } from "./internal/ApprovalTokens.ts"
import { isSameText, make as makeTokens } from "./internal/ApprovalTokens.ts"
import {
  ApprovalNotFound,
  ApprovalOver,
  InboxFull,
  InvalidDecision,
  NotApprover,
  RunEnded,
  RunNotFound,
} from "./Refusals.ts"
import { Runner } from "./Runner.ts"
import * as Schema from "effect/Schema"

export { CurrentApprovalPage } from "./internal/ApprovalTokens.ts"

/** What became of an approval. */
export type ApprovalStatus = "pending" | "approved" | "rejected" | "expired" | "over"

/** An approval, as those see it who may decide. */
export interface Approval {
  readonly run: Run
  readonly nodeId: string
  /** `over`: its node has ended without a decision, or has not begun. */
  readonly status: ApprovalStatus
  readonly title: string
  readonly description: string
  readonly form: ReadonlyArray<FormField>
  /** What it keeps while it waits; `undefined` once it does not. */
  readonly state: ApprovalState | undefined
  readonly decision: Decision | undefined
}

/** An approval, and the addressee whose link was used. */
export interface LinkedApproval extends Approval {
  /** Which addressee, from 0. */
  readonly approver: number
  /** The address; `undefined` once it does not wait. */
  readonly address: string | undefined
}

/** A decision by a caller: what is decided, and who is said to decide. */
export interface CallerDecision extends Answer {
  readonly by: string
  readonly via: Exclude<DecisionVia, "link">
  /** The role of the session; absent: the caller acts for the whole account. */
  readonly role?: Role | undefined
}

/** Why a decision does not count. */
export type DecisionRefusal =
  | ApprovalNotFound
  | ApprovalOver
  | InvalidDecision
  | NotApprover
  | RunNotFound
  | RunEnded
  | InboxFull

type Refused<E> = E | StorageError

export class Approvals extends Context.Service<
  Approvals,
  {
    /** An approval of a run. */
    readonly find: (
      account: AccountId,
      runId: RunId,
      nodeId: string,
    ) => Effect.Effect<Approval, Refused<RunNotFound | ApprovalNotFound>>
    /** Decides for somebody whom the caller names. */
    readonly decide: (
      account: AccountId,
      runId: RunId,
      nodeId: string,
      decision: CallerDecision,
    ) => Effect.Effect<Decision, Refused<DecisionRefusal>>
    /** The token of an addressee, for callers who bring it to the person themselves. */
    readonly tokenFor: (
      account: AccountId,
      runId: RunId,
      nodeId: string,
      address: string,
    ) => Effect.Effect<
      ApprovalToken,
      Refused<ApprovalNotFound | ApprovalOver | InvalidDecision | RunNotFound | VaultClosed>
    >
    /** What a token is about that can be decided. Decides nothing. None: the token is none. */
    readonly readOpen: (
      token: Redacted.Redacted,
    ) => Effect.Effect<
      Option.Option<LinkedApproval & { readonly state: ApprovalState }>,
      Refused<DecisionRefusal>
    >
    /** Decides with a token, once. None: the token is none. */
    readonly decideBy: (
      token: Redacted.Redacted,
      answer: Answer,
    ) => Effect.Effect<Option.Option<Decision>, Refused<DecisionRefusal>>
    /** Passes an approval on to another address, and ends the token. None: the token is none. */
    readonly delegate: (
      token: Redacted.Redacted,
      to: string,
    ) => Effect.Effect<Option.Option<void>, Refused<DecisionRefusal>>
  }
>()("@millrace/core/engine/Approvals") {
  static readonly layer: Layer.Layer<Approvals, never, RunStore | Runner | Vault | Digest.Digest> =
    Layer.effect(
      Approvals,
      Effect.suspend(() => make),
    )
}

const servicesOf = Effect.all({
  runs: RunStore,
  runner: Runner,
  clock: Clock.Clock,
  tokens: makeTokens,
})
type Services = Effect.Success<typeof servicesOf>

const decodeForm = Schema.decodeUnknownOption(FormFields)

/** What an approval keeps while its node waits or is called again. */
const stateOf = ({ active, waiting }: Run, ordinal: number): ApprovalState | undefined =>
  approvalStateOf([...waiting, ...active].find((each) => each.ordinal === ordinal)?.state)

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const statusOf = (
  { output, status }: NodeRun,
  state: ApprovalState | undefined,
  decision: Decision | undefined,
): ApprovalStatus => {
  if (decision !== undefined) return decision.outcome
  if (!isNodeTerminal(status)) return state === undefined ? "over" : "pending"
  return output !== null && Object.hasOwn(output, "expired") ? "expired" : "over"
}

const approvalOf = (record: RunRecord, nodeId: string): Approval | undefined => {
  const row = nodeRunsOf(record).find((each) => each.nodeId === nodeId)
  if (row === undefined || row.nodeType !== approvalType) return undefined
  const { run } = record
  const state = isNodeTerminal(row.status) ? undefined : stateOf(run, row.ordinal)
  const decision = decisionIn(row.output)
  const input = row.input ?? {}
  return {
    run,
    nodeId,
    status: statusOf(row, state, decision),
    title: textOf(input["title"]),
    description: textOf(input["description"]),
    form: Option.getOrElse(decodeForm(input["fields"]), () => []),
    state,
    decision,
  }
}

const find = (services: Services): Approvals["Service"]["find"] =>
  Effect.fn("Approvals.find")(function* (account, runId, nodeId) {
    const found = yield* services.runs.find(account, runId)
    if (Option.isNone(found)) return yield* new RunNotFound({ runId })
    return approvalOf(found.value, nodeId) ?? (yield* new ApprovalNotFound({ runId, nodeId }))
  })

/** What became of an approval that does not wait, as a sentence. */
const overOf = ({ decision, status }: Pick<Approval, "decision" | "status">): ApprovalOver => {
  if (decision !== undefined) return overBy(decision)
  return status === "expired"
    ? new ApprovalOver({ message: "The approval has expired: nobody decided in time" })
    : new ApprovalOver({ message: "Nobody is asked: the node does not wait for a decision" })
}

const overBy = ({ at, by, outcome }: Omit<Decision, "comment" | "fields" | "via">) =>
  new ApprovalOver({ message: `It was ${outcome} already: by ${by}, at ${format(at)}`, outcome })

const isExpired = ({ expiresAt }: ApprovalState, now: Timestamp): boolean =>
  expiresAt !== null && now > expiresAt

/** What an approval keeps that waits for a decision now. */
const waitingState = ({ clock }: Services, approval: Approval) =>
  Effect.suspend(() => {
    const { state } = approval
    if (state === undefined) return Effect.fail(overOf(approval))
    return isExpired(state, clock.currentTimeMillisUnsafe())
      ? Effect.fail(overOf({ status: "expired", decision: undefined }))
      : Effect.succeed(state)
  })

/** Stores a message to an approval. */
const send = Effect.fnUntraced(function* (
  { runner, runs }: Services,
  { id, accountId }: Run,
  message: NewMessage,
): Effect.fn.Return<
  Extract<SendResult, { readonly _tag: "Sent" }>,
  Refused<RunNotFound | RunEnded | InboxFull>
> {
  const sent = yield* runs.send(accountId, id, message)
  switch (sent._tag) {
    case "NotFound":
      return yield* new RunNotFound({ runId: id })
    case "Ended":
      return yield* new RunEnded({ runId: id, status: sent.status })
    case "Full":
      return yield* new InboxFull({ runId: id })
    case "Sent":
      if (!sent.isReplay) yield* runner.look
      return sent
  }
})

/** The message with this number, whether or not the node has taken it; none if it is gone. */
const messageOf = ({ runs }: Services, runId: RunId, number: number) =>
  Effect.map(runs.inboxes([{ runId, after: number - 1, held: [number] }]), ([inbox]) =>
    inbox?.messages.find((each) => each.number === number),
  )

type Decided = Extract<ApprovalMessage, { readonly says: "decided" }>

/** Stores a decision, if it is the first, and not too late. */
const store = Effect.fnUntraced(function* (
  services: Services,
  approval: Approval,
  state: ApprovalState,
  { comment, fields, outcome }: Answer,
  who: Pick<Decided, "by" | "via">,
): Effect.fn.Return<Decision, Refused<DecisionRefusal>> {
  const { form, nodeId, run } = approval
  const problem = problemOfAnswer(form, { comment, fields, outcome })
  if (problem !== undefined) return yield* new InvalidDecision({ message: problem })
  const said: Omit<Decision, "at"> = {
    outcome,
    ...who,
    comment: comment === undefined || comment === "" ? null : comment,
    fields: filledIn(fields),
  }
  const name = approvalMessage(nodeId)
  const payload = { says: "decided" as const, ...said }
  // The id is that of the approval, so a store takes one decision and no other.
  const sent = yield* send(services, run, { id: name, name, payload })
  const message = yield* messageOf(services, run.id, sent.number)
  if (message === undefined) {
    // It was taken, and the run has ended since.
    const now = yield* find(services)(run.accountId, run.id, nodeId)
    return !sent.isReplay && now.decision !== undefined ? now.decision : yield* overOf(now)
  }
  const { at } = message
  if (isExpired(state, at)) return yield* overOf({ status: "expired", decision: undefined })
  if (sent.isReplay) return yield* overBy({ ...(message.payload as unknown as Decided), at })
  return { ...said, at }
})

const decide = (services: Services): Approvals["Service"]["decide"] =>
  Effect.fn("Approvals.decide")(function* (account, runId, nodeId, { by, role, via, ...answer }) {
    const approval = yield* find(services)(account, runId, nodeId)
    const state = yield* waitingState(services, approval)
    if (role !== undefined && !state.roles.some((each) => isAtLeast(role, each))) {
      return yield* new NotApprover({ message: notOfRole(state, role) })
    }
    return yield* store(services, approval, state, answer, { by, via })
  }, Effect.uninterruptible)

const notOfRole = ({ roles }: ApprovalState, role: Role): string =>
  roles.length === 0
    ? "The approval asks by mail alone: only who has a link of it decides"
    : `The approval asks the role ${roles.join(" or ")}, and your session has the role ${role}`

const tokenFor = (services: Services): Approvals["Service"]["tokenFor"] =>
  Effect.fn("Approvals.tokenFor")(function* (accountId, runId, nodeId, address) {
    const approval = yield* find(services)(accountId, runId, nodeId)
    const { approvers } = yield* waitingState(services, approval)
    const approver = approvers.findIndex((each) => each.address === address)
    const found = approvers[approver]
    if (found === undefined) {
      return yield* new InvalidDecision({ message: "address: the approval does not ask it" })
    }
    const { tokenHash, version } = found
    const place = { accountId, runId, nodeId, approver, version }
    const made = yield* services.tokens.make(place, tokenHash)
    if (made.hash === tokenHash) return made
    const message = "Its links were made with a master key that this process does not have"
    return yield* new ApprovalOver({ message })
  })

/**
 * Refuses a link that has ended by what was sent to the approval: a node may not have taken it yet,
 * or may be about to keep what follows from it.
 */
const checkSent = Effect.fnUntraced(function* (
  { runs }: Services,
  { nodeId, run }: Approval,
  approver: number,
  { version }: Approver,
) {
  if (run.messages === 0) return
  const length = Math.min(run.messages, messagesPerRun)
  const held = Array.from({ length }, (_, index) => run.messages - index)
  const [inbox] = yield* runs.inboxes([{ runId: run.id, after: 0, held }])
  let delegations = 0
  for (const { at, name, payload } of inbox?.messages ?? []) {
    if (name !== approvalMessage(nodeId)) continue
    const said = payload as unknown as ApprovalMessage
    if (said.says === "decided") return yield* overBy({ ...said, at })
    if (said.approver === approver) delegations += 1
  }
  if (delegations > version) return yield* replaced
})

const replaced = new ApprovalOver({
  message: "This link is over: the approval was passed on to another address",
})

/** The approval of a token that is ours; `undefined`: of none, or what it named is gone. */
const linked = Effect.fnUntraced(function* (
  services: Services,
  token: Redacted.Redacted,
): Effect.fn.Return<LinkedApproval | undefined, Refused<ApprovalOver>> {
  const place = yield* services.tokens.read(token)
  if (place === undefined) return undefined
  const { accountId, approver, hash, nodeId, runId } = place
  const found = yield* services.runs.find(accountId, runId)
  const approval = Option.isNone(found) ? undefined : approvalOf(found.value, nodeId)
  if (approval === undefined) return undefined
  const { state } = approval
  if (state === undefined) return { ...approval, approver, address: undefined }
  const current = state.approvers[approver]
  if (!isSameText(current?.tokenHash ?? "", hash)) return yield* replaced
  yield* checkSent(services, approval, approver, current!)
  return { ...approval, approver, address: current!.address }
})

/** With the approval of a token that waits. */
const withLinked = <A>(
  services: Services,
  token: Redacted.Redacted,
  use: (
    approval: LinkedApproval,
    state: ApprovalState,
  ) => Effect.Effect<A, Refused<DecisionRefusal>>,
): Effect.Effect<Option.Option<A>, Refused<DecisionRefusal>> =>
  Effect.gen(function* () {
    const approval = yield* linked(services, token)
    if (approval === undefined) return Option.none()
    const state = yield* waitingState(services, approval)
    return Option.some(yield* use(approval, state))
  }).pipe(Effect.uninterruptible)

const delegate = (services: Services): Approvals["Service"]["delegate"] =>
  Effect.fn("Approvals.delegate")((token, to) =>
    withLinked(
      services,
      token,
      Effect.fnUntraced(function* ({ approver, nodeId, run }, { approvers, mayDelegate }) {
        const { version } = approvers[approver]!
        if (!isApproverAddress(to)) {
          return yield* new InvalidDecision({ message: "to: expected an address of e-mail" })
        }
        if (!mayDelegate) {
          return yield* new InvalidDecision({ message: "This approval cannot be passed on" })
        }
        if (version >= delegationsPerApprover) {
          return yield* new InvalidDecision({ message: "This approval was passed on too often" })
        }
        if (approvers.some(({ address }) => address === to)) {
          return yield* new InvalidDecision({ message: "to: this address is asked already" })
        }
        const name = approvalMessage(nodeId)
        const payload = { says: "delegated" as const, approver, to }
        const sent = yield* send(services, run, {
          id: `${name}:${approver}:${version}`,
          name,
          payload,
        })
        if (sent.isReplay) return yield* replaced
      }),
    ),
  )

const make = Effect.map(servicesOf, (services) =>
  Approvals.of({
    find: find(services),
    decide: decide(services),
    tokenFor: tokenFor(services),
    readOpen: Effect.fn("Approvals.readOpen")((token) =>
      withLinked(services, token, (approval, state) => Effect.succeed({ ...approval, state })),
    ),
    decideBy: Effect.fn("Approvals.decideBy")((token, answer) =>
      withLinked(services, token, (approval, state) =>
        store(services, approval, state, answer, { by: approval.address!, via: "link" }),
      ),
    ),
    delegate: delegate(services),
  }),
)
