/**
 * Approvals: what a node asks a person, what it keeps while it waits, and what a decision is.
 *
 * Guarantees: what is kept names addressees and hashes of tokens, never a token. Leaves out: who
 * may decide, and storing decisions, which the engine does.
 */
import { Option, Schema } from "effect"
import type { Json, JsonObject } from "./Json.ts"
import { JsonObject as JsonObjectSchema } from "./Json.ts"
import {
  approvalFields,
  approverLength,
  approversPerNode,
  decisionCommentLength,
  fieldNameLength,
  fieldOptions,
  fieldTextLength,
} from "./Limits.ts"
import { listed, quoted } from "./Quote.ts"
import { AccountRole } from "./Session.ts"
import { Timestamp } from "./Timestamp.ts"

/** The `type` of nodes that ask a person. */
export const approvalType = "approval"

const short = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(fieldNameLength))

/** A field of the form that a person fills in. */
export const FormField = Schema.Struct({
  /** Its key among the values. */
  name: short,
  /** What the page shows; the name by default. */
  label: Schema.optionalKey(short),
  type: Schema.Literals(["text", "number", "boolean", "select"]),
  /** True: who approves has to fill it in. */
  required: Schema.optionalKey(Schema.Boolean),
  /** What a `select` offers. */
  options: Schema.optionalKey(
    Schema.Array(short).check(Schema.isMinLength(1), Schema.isMaxLength(fieldOptions)),
  ),
})
export type FormField = typeof FormField.Type

const problemOfFields = (fields: ReadonlyArray<FormField>): string | undefined => {
  const names = new Set(fields.map(({ name }) => name))
  if (names.size < fields.length) return "expected fields with different names"
  if (names.has("__proto__")) return "expected fields with names other than __proto__"
  const without = fields.find(
    ({ options, type }) => (type === "select") !== (options !== undefined),
  )
  return without === undefined
    ? undefined
    : `field ${quoted(without.name)}: expected options with the type select, and only there`
}

const aboutForm =
  "A form: each field has a name, a type (text, number, boolean, select), and perhaps a label, " +
  "required, and options."

/** The form of an approval. */
export const FormFields = Schema.Array(FormField)
  .annotate({ description: aboutForm })
  .check(
    Schema.isMaxLength(approvalFields),
    Schema.makeFilter((fields: ReadonlyArray<FormField>) => problemOfFields(fields) ?? true),
  )

/** How a person decides. */
export const ApprovalOutcome = Schema.Literals(["approved", "rejected"])
export type ApprovalOutcome = typeof ApprovalOutcome.Type

/**
 * By which way a decision came: the link of an addressee, a session of the console, or a caller of
 * the interface, who says by whom.
 */
export const DecisionVia = Schema.Literals(["link", "session", "caller"])
export type DecisionVia = typeof DecisionVia.Type

/** A decision. Nobody has proven who decided: `by` is an addressee, or what a caller says. */
export const Decision = Schema.Struct({
  outcome: ApprovalOutcome,
  by: Schema.String,
  via: DecisionVia,
  at: Timestamp,
  comment: Schema.NullOr(Schema.String),
  fields: JsonObjectSchema,
})
export type Decision = typeof Decision.Type

/** What a person says. */
export interface Answer {
  readonly outcome: ApprovalOutcome
  readonly comment?: string | undefined
  readonly fields?: JsonObject | undefined
}

const kinds = { text: "a text", number: "a number", boolean: "true or false" } as const

const problemOfValue = ({ options = [], type }: FormField, value: Json): string | undefined => {
  if (type === "select") {
    return options.some((each) => each === value) ? undefined : `expected one of ${listed(options)}`
  }
  if (typeof value !== (type === "text" ? "string" : type)) return `expected ${kinds[type]}`
  return typeof value === "string" && value.length > fieldTextLength
    ? `expected at most ${fieldTextLength} characters`
    : undefined
}

const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === ""

/**
 * Why an answer does not fit a form, as a sentence; `undefined` if it fits. Who rejects need not
 * fill in anything.
 */
export const problemOfAnswer = (
  form: ReadonlyArray<FormField>,
  { comment = "", fields = {}, outcome }: Answer,
): string | undefined => {
  if (comment.length > decisionCommentLength) {
    return `comment: expected at most ${decisionCommentLength} characters`
  }
  const known = new Map(form.map((field) => [field.name, field]))
  for (const [name, value] of Object.entries(fields)) {
    const field = known.get(name)
    if (field === undefined) return `fields: the form has no field ${quoted(name)}`
    const problem = isEmpty(value) ? undefined : problemOfValue(field, value)
    if (problem !== undefined) return `fields[${name}]: ${problem}`
  }
  const missing = form.find(
    ({ name, required }) =>
      required === true && (!Object.hasOwn(fields, name) || isEmpty(fields[name])),
  )
  return outcome === "approved" && missing !== undefined
    ? `fields[${missing.name}]: expected a value`
    : undefined
}

/** The values of an answer without those that are empty. */
export const filledIn = (fields: JsonObject = {}): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))

const address = /^[^\s"(),:;<>@[\]\\\p{Cc}]{1,64}@[\p{L}\p{N}][\p{L}\p{N}.-]*$/u

/** True for a bare address of e-mail that can be asked. */
export const isApproverAddress = (text: string): boolean =>
  text.length <= approverLength && address.test(text)

/** Who is asked by a link. */
export const Approver = Schema.Struct({
  /** A bare address of e-mail. */
  address: Schema.String.check(Schema.isMaxLength(approverLength)),
  /** How often this place was passed on to another address. Older links are over. */
  version: Schema.Int,
  /** The SHA-256 of the token, as base64url; `null` where no link can be made. */
  tokenHash: Schema.NullOr(Schema.String),
  /** How many mails were sent to this address. */
  mails: Schema.Int,
  /** How often the mail that is due could not be sent. */
  tries: Schema.Int,
})
export type Approver = typeof Approver.Type

/** What an approval keeps while it waits. */
export const ApprovalState = Schema.Struct({
  asks: Schema.Literal(approvalType),
  title: Schema.String,
  askedAt: Timestamp,
  /** When it expires; `null`: never. */
  expiresAt: Schema.NullOr(Timestamp),
  /** When the next mail is due; `null`: none is. */
  mailAt: Schema.NullOr(Timestamp),
  /** Reminders that were sent. */
  reminders: Schema.Int,
  /** When the wait ends that it has begun last; `null`: never. */
  waitsUntil: Schema.NullOr(Timestamp),
  approvers: Schema.Array(Approver).check(Schema.isMaxLength(approversPerNode)),
  /** Sessions with one of these roles, or more, may decide. */
  roles: Schema.Array(AccountRole),
  /** True: addressees may pass it on to another address. */
  mayDelegate: Schema.Boolean,
})
export type ApprovalState = typeof ApprovalState.Type

const isApprovalState = Schema.is(ApprovalState)

/** What an approval keeps, if this is that. */
export const approvalStateOf = (state: Json | undefined): ApprovalState | undefined =>
  isApprovalState(state) ? state : undefined

const decodeDecision = Schema.decodeUnknownOption(Decision)

/** The decision in the output of an approval, if there is one. */
export const decisionIn = (output: JsonObject | null): Decision | undefined =>
  Option.getOrUndefined(decodeDecision(output?.["approved"] ?? output?.["rejected"]))

/** The name of messages to an approval. No signal can have it. */
export const approvalMessage = (nodeId: string): string => `approval:${nodeId}`

/** The node that a wait for a message of an approval belongs to. */
export const approvalNodeOf = (name: string | undefined): string | undefined =>
  name?.startsWith("approval:") === true ? name.slice("approval:".length) : undefined

/** What a message to an approval says. Only the engine sends such messages. */
export type ApprovalMessage =
  | ({ readonly says: "decided" } & Omit<Decision, "at">)
  | { readonly says: "delegated"; readonly approver: number; readonly to: string }
