/**
 * The approval node: waits until a person approves or rejects, for some time at most.
 *
 * Guarantees: one decision counts. What it keeps and logs holds no token. Addressees are stored
 * before they are written to, so a crash repeats a mail with the same link, and loses none. While
 * it waits, it uses no slot and no memory. Leaves out: who somebody is; an address proves nothing.
 */
import type { ApprovalMessage, ApprovalState, Approver } from "@millrace/core/domain/Approval"
import {
  approvalMessage,
  approvalStateOf,
  approvalType,
  FormFields,
  isApproverAddress,
} from "@millrace/core/domain/Approval"
import { Json, JsonObject } from "@millrace/core/domain/Json"
import {
  approvalMailTries,
  approvalTextLength,
  approvalTitleLength,
  approverLength,
  approversPerNode,
  reminderMillis,
  remindersPerApproval,
} from "@millrace/core/domain/Limits"
import { millisOf } from "@millrace/core/domain/NodePolicy"
import type { KnownInputs } from "@millrace/core/domain/NodeType"
import { AccountRole } from "@millrace/core/domain/Session"
import { format } from "@millrace/core/domain/Timestamp"
import type { ApprovalLink } from "@millrace/core/engine/CurrentNode"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define, toNodeError } from "@millrace/core/engine/NodeDefinition"
import type { Egress } from "@millrace/egress/Egress"
import { Clock, Effect, Redacted, Result, Schema } from "effect"
import { wait } from "../Delay.ts"
import { addressOf, domainOf } from "./email/EmailAddress.ts"
import { Address, halfSignIn, line, mail, messageIdOf, serverInputs } from "./email/Mailing.ts"
import { HostInput } from "./Endpoint.ts"

const ApproverAddress = Address.check(
  Schema.makeFilter(
    (text: string) =>
      isApproverAddress(addressOf(text).address) ||
      `expected an address of at most ${approverLength} characters`,
  ),
)

const inputs = {
  title: line(approvalTitleLength, "What is asked, in one line; the subject of the mail.").check(
    Schema.isMinLength(1),
  ),
  description: Schema.optionalKey(
    Schema.String.annotate({ description: "What the person should know, as plain text." }).check(
      Schema.isMaxLength(approvalTextLength),
    ),
  ),
  fields: Schema.optionalKey(FormFields),
  approvers: Schema.optionalKey(
    Schema.Union([
      ApproverAddress,
      Schema.Array(ApproverAddress).check(Schema.isMaxLength(approversPerNode)),
    ]).annotate({ description: "Addresses of e-mail, each of which gets a link of its own." }),
  ),
  roles: Schema.optionalKey(
    Schema.Array(AccountRole).annotate({
      description: "Who has signed in with one of these roles, or more, may decide.",
    }),
  ),
  input: Schema.optionalKey(
    Json.annotate({ description: "Nothing; so that an edge can end here." }),
  ),
  timeout: Schema.optionalKey(
    wait("When it expires, as `for` of a delay; without it, it waits until somebody decides."),
  ),
  reminder: Schema.optionalKey(
    wait("How often who is asked gets the mail again; at least a minute. Absent: never."),
  ),
  delegation: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "False: who is asked cannot pass it on to another address.",
      default: true,
    }),
  ),
  host: Schema.optionalKey(
    HostInput.annotate({
      description: "The mail server, as of a node email. Absent: no mail is sent.",
    }),
  ),
  ...serverInputs,
  from: Schema.optionalKey(
    Address.annotate({ description: "The sender: an address, or Name <address>." }),
  ),
}

type Inputs = Schema.Struct<typeof inputs>["Type"]

const Decided = Schema.Struct({
  outcome: Schema.Literals(["approved", "rejected"]),
  by: Schema.String.annotate({ description: "An address, or who a caller says. Not proven." }),
  via: Schema.Literals(["link", "session", "caller"]),
  at: Schema.String,
  comment: Schema.NullOr(Schema.String),
  fields: JsonObject,
})

const Expired = Schema.Struct({ outcome: Schema.Literal("expired"), at: Schema.String })

const outputs = {
  approved: Schema.optionalKey(Decided.annotate({ description: "The decision, if approved." })),
  rejected: Schema.optionalKey(Decided.annotate({ description: "The decision, if rejected." })),
  expired: Schema.optionalKey(
    Expired.annotate({ description: "When nobody has decided in time." }),
  ),
}

type Outputs = Schema.Struct<typeof outputs>["Type"]

const noApprovers = "expected approvers, roles, or both"
const noMail = "expected host and from, or none of both"

const problemOf = ({ approvers, from, host, password, roles = [], user }: Inputs) => {
  if (listOf(approvers).length === 0 && roles.length === 0) return noApprovers
  if ((host === undefined) !== (from === undefined)) return noMail
  return (user === undefined) === (password === undefined) ? undefined : halfSignIn
}

/** What is known to be wrong before the node executes. */
const problemsOfInputs = ({ mayHave }: KnownInputs) => {
  const problems: Array<readonly [port: string, clause: string]> = []
  if (!mayHave("approvers") && !mayHave("roles")) problems.push(["approvers", noApprovers])
  if (mayHave("host") !== mayHave("from")) {
    problems.push([mayHave("host") ? "from" : "host", noMail])
  }
  if (mayHave("user") !== mayHave("password")) {
    problems.push([mayHave("user") ? "password" : "user", halfSignIn])
  }
  return problems
}

const listOf = (given: string | ReadonlyArray<string> = []): ReadonlyArray<string> =>
  typeof given === "string" ? [given] : given

const refusal = (message: string) => new NodeError({ message, retryable: false })

/** The earlier one of two times, of which each may be none. */
const earlier = (left: number | null, right: number | null): number | null =>
  left === null || right === null ? (left ?? right) : Math.min(left, right)

/** Waits for a message, for the next mail, or for the expiry. */
const suspend = Effect.fnUntraced(function* (state: ApprovalState) {
  const node = yield* CurrentNode
  const waitsUntil = earlier(state.expiresAt, state.mailAt)
  const until = waitsUntil === null ? {} : { until: waitsUntil }
  const kept = { ...state, waitsUntil }
  return yield* node.suspend({ for: approvalMessage(node.nodeId), ...until }, kept)
})

/** The link of an addressee; none where this engine makes none, and sends no mail. */
const linkOf = Effect.fnUntraced(function* (
  { host }: Inputs,
  approver: number,
  { tokenHash, version }: Approver,
): Effect.fn.Return<ApprovalLink | undefined, NodeError, CurrentNode> {
  const node = yield* CurrentNode
  const link = node.approvalLink({ approver, version, tokenHash })
  if (host !== undefined) return yield* link
  return Result.getOrElse(yield* Effect.result(link), () => undefined)
})

const noUrl =
  "the mail needs the public address of this server: set --public-url, or publicUrl of the engine"

const unwritten = { version: 0, tokenHash: null, mails: 0, tries: 0 }

/** Begins to ask: everybody is stored with the hash of a token, before anybody is written to. */
const begin = Effect.fnUntraced(function* (given: Inputs) {
  const problem = problemOf(given)
  if (problem !== undefined) return yield* refusal(problem)
  const { approvers: asked, delegation = true, host, reminder, roles = [], timeout, title } = given
  if (reminder !== undefined && millisOf(reminder)! < reminderMillis) {
    return yield* refusal("reminder: expected at least a minute")
  }
  const addresses = [...new Set(listOf(asked).map((each) => addressOf(each).address))]
  const approvers = yield* Effect.forEach(addresses, (address, index) =>
    Effect.gen(function* () {
      const bare = { address, ...unwritten }
      const link = yield* linkOf(given, index, bare)
      if (host !== undefined && link?.url === undefined) return yield* refusal(noUrl)
      return { ...bare, tokenHash: link?.tokenHash ?? null }
    }),
  )
  const now = yield* Clock.currentTimeMillis
  return yield* suspend({
    asks: approvalType,
    title,
    askedAt: now,
    expiresAt: timeout === undefined ? null : now + millisOf(timeout)!,
    mailAt: host === undefined || approvers.length === 0 ? null : now,
    reminders: 0,
    waitsUntil: null,
    approvers,
    roles,
    mayDelegate: delegation && host !== undefined,
  })
})

const textOf = (
  { description, title }: Inputs,
  { expiresAt, mayDelegate }: ApprovalState,
  url: string,
): string =>
  [
    title,
    ...(description === undefined ? [] : [description]),
    `Decide here. The link is for you alone and works once:\n${url}`,
    ...(expiresAt === null ? [] : [`The question ends at ${format(expiresAt)}.`]),
    ...(mayDelegate ? ["On the page you can pass it on to another address."] : []),
  ].join("\n\n") + "\n"

/** Writes to an addressee. */
const write = Effect.fnUntraced(function* (
  given: Inputs,
  state: ApprovalState,
  index: number,
): Effect.fn.Return<Approver, NodeError, CurrentNode | Egress> {
  const approver = state.approvers[index]!
  const link = yield* linkOf(given, index, approver)
  if (link?.url === undefined) return yield* refusal(noUrl)
  const { idempotencyKey } = yield* CurrentNode
  const { host = "", from = "", title, ...server } = given
  const { address, mails, version } = approver
  const sender = addressOf(from)
  const key = `${idempotencyKey}:${index}:${version}:${mails}`
  const message = {
    from: sender,
    to: [{ name: "", address }],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: mails === 0 ? title : `Reminder: ${title}`,
    text: textOf(given, state, Redacted.value(link.url)),
    html: undefined,
    messageId: messageIdOf(key, domainOf(sender)),
    date: new Date(yield* Clock.currentTimeMillis),
  }
  const leaving = [from, address, title, given.description ?? ""]
  const sent = Effect.mapError(mail({ ...server, host }, message, leaving), toNodeError)
  const { rejected } = yield* sent
  if (rejected.length > 0) return yield* refusal("the mail server did not accept the address")
  yield* Effect.logInfo(mails === 0 ? `Asked ${address} by mail` : `Reminded ${address} by mail`)
  return { ...approver, tokenHash: link.tokenHash, mails: mails + 1, tries: 0 }
})

/** The pauses between tries of a mail grow from a minute. */
const pauseMillis = (tries: number): number => reminderMillis * 2 ** (tries - 1)

/** True while a mail is due that the server may still take. */
const isUnwritten = ({ mails, tries }: Approver): boolean =>
  (mails === 0 || tries > 0) && tries < approvalMailTries

/** True for somebody whom no mail will reach. An address that was passed on is another matter. */
const isUnreached = ({ mails, tries, version }: Approver): boolean =>
  mails === 0 && version === 0 && tries >= approvalMailTries

/** Writes to those who were not written to yet, or to all if a reminder is due. */
const writeAll = Effect.fnUntraced(function* (given: Inputs, state: ApprovalState) {
  const isReminder = !state.approvers.some(isUnwritten)
  const approvers: Array<Approver> = []
  let failure: NodeError | undefined
  for (const [index, approver] of state.approvers.entries()) {
    const { address, tries } = approver
    if (!isReminder && !isUnwritten(approver)) {
      approvers.push(approver)
      continue
    }
    const written = yield* Effect.result(write(given, state, index))
    if (Result.isSuccess(written)) approvers.push(written.success)
    else {
      failure = written.failure
      const last = failure.retryable === false ? approvalMailTries : tries + 1
      approvers.push({ ...approver, tries: last })
      yield* Effect.logWarning(`No mail to ${address}: ${failure.message}`)
    }
  }
  if (failure !== undefined && approvers.every(isUnreached)) return yield* failure
  const now = yield* Clock.currentTimeMillis
  const again = approvers
    .filter(({ tries }) => tries > 0 && tries < approvalMailTries)
    .map(({ tries }) => now + pauseMillis(tries))
  const reminders = state.reminders + (isReminder ? 1 : 0)
  const isRepeated = given.reminder !== undefined && reminders < remindersPerApproval
  const next = isRepeated ? now + millisOf(given.reminder)! : null
  const mailAt = again.length > 0 ? Math.min(...again) : next
  return yield* suspend({ ...state, approvers, reminders, mailAt })
})

/** Passes an addressee's place on: the link before is over as soon as this is stored. */
const passOn = Effect.fnUntraced(function* (
  given: Inputs,
  state: ApprovalState,
  { approver: index, to }: Extract<ApprovalMessage, { readonly says: "delegated" }>,
) {
  const before = state.approvers[index]!
  const bare = { address: to, ...unwritten, version: before.version + 1 }
  const link = yield* linkOf(given, index, bare)
  const after = { ...bare, tokenHash: link?.tokenHash ?? null }
  yield* Effect.logInfo(`${before.address} passed it on to ${to}`)
  const approvers = state.approvers.map((each, at) => (at === index ? after : each))
  return yield* suspend({ ...state, approvers, mailAt: yield* Clock.currentTimeMillis })
})

const decided = Effect.fnUntraced(function* (
  { says: _, ...decision }: Extract<ApprovalMessage, { readonly says: "decided" }>,
  at: number,
) {
  const { by, outcome, via } = decision
  yield* Effect.logInfo(`${outcome === "approved" ? "Approved" : "Rejected"} by ${by}`, { via })
  return { [outcome]: { ...decision, at: format(at) } }
})

const run = Effect.fnUntraced(function* (
  given: Inputs,
): Effect.fn.Return<Outputs, NodeError, CurrentNode | Egress> {
  const { message, resumed } = yield* CurrentNode
  const state = approvalStateOf(resumed)
  if (state === undefined) return yield* begin(given)
  if (message !== undefined) {
    const said = message.payload as unknown as ApprovalMessage
    return yield* said.says === "decided" ? decided(said, message.at) : passOn(given, state, said)
  }
  const { expiresAt, waitsUntil } = state
  if (expiresAt !== null && waitsUntil === expiresAt) {
    yield* Effect.logInfo("Expired: nobody has decided in time")
    return { expired: { outcome: "expired", at: format(expiresAt) } }
  }
  // A decision may have come while no process looked, after the mail was due.
  if (expiresAt !== null && (yield* Clock.currentTimeMillis) >= expiresAt) {
    return yield* suspend({ ...state, mailAt: null })
  }
  return yield* writeAll(given, state)
})

/** `approval`: waits until a person approves or rejects. */
export const approval = define({
  key: approvalType,
  effects: "writes",
  name: "Approval",
  description:
    "Waits until a person approves or rejects: by a link in a mail, signed in, or through your " +
    "own product.",
  category: "flow",
  icon: "user-check",
  waitsForSignal: true,
  inputs,
  secrets: ["user", "password"],
  problemsOfInputs,
  outputs,
  example: {
    inputs: {
      title: "Refund of 900 EUR to Globex?",
      approvers: ["ann@example.com"],
      fields: [{ name: "amount", type: "number", required: true }],
      timeout: "3 days",
    },
    outputs: {
      approved: {
        outcome: "approved",
        by: "ann@example.com",
        via: "link",
        at: "2026-01-31T09:30:00.000Z",
        comment: null,
        fields: { amount: 900 },
      },
    },
  },
  run,
})
