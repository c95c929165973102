/**
 * How listings are asked for (specification 4.6): by cursor, or by page number.
 *
 * Guarantees: a number is written in decimal digits and within its bounds, or the request is
 * refused; nothing is clamped. Leaves out: which of the two ways applies, and what a cursor holds.
 */
import { DeliveryState } from "@millrace/core/domain/Delivery"
import { itemsPerPage, searchLength } from "@millrace/core/domain/Limits"
import { RunSource, RunStatus } from "@millrace/core/domain/Run"
import { isAtMost } from "@millrace/core/domain/TextLength"
import { timeOf } from "@millrace/core/domain/Timestamp"
import { Schema, SchemaGetter, Struct } from "effect"
import { isStorable } from "./Text.ts"

/** How many items a page has where nothing was asked for. */
export const defaultPageSize = 20

/** The highest page number that can be asked for. */
export const maxPage = Number.MAX_SAFE_INTEGER

/** A parameter that is given once. */
const Single = Schema.String.annotate({ message: "expected one value" })

/** An integer in decimal digits: no sign, no blanks, no leading zero, no other notation. */
export const integerText = (minimum: number, maximum: number) => {
  const isInRange = (text: string) =>
    /^(0|[1-9][0-9]{0,15})$/.test(text) && Number(text) >= minimum && Number(text) <= maximum
  return Single.check(
    Schema.makeFilter(isInRange, { expected: `an integer from ${minimum} to ${maximum}` }),
  ).pipe(
    Schema.decodeTo(Schema.Int, {
      decode: SchemaGetter.transform(Number),
      encode: SchemaGetter.transform(String),
    }),
  )
}

/** A time in UTC, as its text in ISO 8601. */
export const timeText = Single.check(
  Schema.makeFilter(
    (text) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z$/.test(text) && timeOf(text) !== undefined,
    { expected: "a time in UTC, as 2026-01-31T09:30:00Z" },
  ),
).pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transform((text: string) => Date.parse(text)),
    encode: SchemaGetter.transform((millis: number) => new Date(millis).toISOString()),
  }),
)

/** The parameters that every listing has. */
const paging = {
  cursor: Schema.optionalKey(Single.check(Schema.isMinLength(1))),
  limit: Schema.optionalKey(integerText(1, itemsPerPage)),
  page: Schema.optionalKey(integerText(1, maxPage)),
  pageSize: Schema.optionalKey(integerText(1, itemsPerPage)),
}

const searching = {
  search: Schema.optionalKey(
    Single.check(Schema.isMinLength(1), isAtMost(searchLength), isStorable),
  ),
}

/** What a listing is asked for that can be searched. */
export const PageQuery = Schema.Struct({ ...paging, ...searching })
export type PageQuery = typeof PageQuery.Type

/** What the listing of workflows is asked for, and what of each. */
export const WorkflowQuery = Schema.Struct({
  ...PageQuery.fields,
  activity: Schema.optionalKey(
    Schema.Literals(["true", "false"]).annotate({
      description: "`true`: with the last run, and the runs and failures of seven days.",
    }),
  ),
  view: Schema.optionalKey(
    Schema.Literal("outline").annotate({
      description: "`outline`: with the places of the nodes and the edges, for a small picture.",
    }),
  ),
})
export type WorkflowQuery = typeof WorkflowQuery.Type

/** What the listing of runs is asked for (specification 4.6). */
export const RunQuery = Schema.Struct({
  workflowId: Schema.optionalKey(Single.check(Schema.isMinLength(1), isStorable)),
  status: Schema.optionalKey(RunStatus),
  source: Schema.optionalKey(RunSource),
  triggerId: Schema.optionalKey(Single.check(Schema.isMinLength(1), isStorable)),
  parent: Schema.optionalKey(
    Single.check(Schema.isMinLength(1), isStorable).annotate({
      description: "The id of a run: only the runs that it has started.",
    }),
  ),
  roots: Schema.optionalKey(
    Schema.Literals(["true", "false"]).annotate({
      description:
        "`true`: only runs that no run has started. `false`: all. `true` by default, and `false` " +
        "with `parent`.",
    }),
  ),
  from: Schema.optionalKey(timeText),
  to: Schema.optionalKey(timeText),
  ...paging,
  ...searching,
})
export type RunQuery = typeof RunQuery.Type

/** What the listing of approvals is asked for. */
export const ApprovalQuery = RunQuery.mapFields(Struct.pick(["workflowId", "cursor", "limit"]))

/** What the listing of the items of a loop is asked for. */
export const ItemQuery = RunQuery.mapFields(Struct.pick(["status", "cursor", "limit"]))
export type ItemQuery = typeof ItemQuery.Type

/** What is asked for to watch a listing of runs. */
export const LiveRunQuery = RunQuery.mapFields(Struct.omit(["cursor", "page", "pageSize"]))
export type LiveRunQuery = typeof LiveRunQuery.Type

/** How much of a run is asked for. */
export const ViewQuery = Schema.Struct({
  view: Schema.optionalKey(
    Schema.Literal("summary").annotate({
      description: "`summary`: without inputs, outputs and logs, but with their sizes.",
    }),
  ),
})
export type ViewQuery = typeof ViewQuery.Type

/** What the listing of a run's deliveries is asked for. */
export const DeliveryQuery = Schema.Struct({
  state: Schema.optionalKey(DeliveryState),
  ...paging,
})
export type DeliveryQuery = typeof DeliveryQuery.Type

/** What the listing of all deliveries is asked for. */
export const AdminDeliveryQuery = Schema.Struct({
  accountId: Schema.optionalKey(Single.check(Schema.isMinLength(1), isStorable)),
  runId: Schema.optionalKey(Single.check(Schema.isMinLength(1), isStorable)),
  ...DeliveryQuery.fields,
})
export type AdminDeliveryQuery = typeof AdminDeliveryQuery.Type

/** One page of a listing; `nextCursor` is `null` at the end. */
export const pageOf = <S extends Schema.Top>(item: S) =>
  Schema.Struct({ items: Schema.Array(item), nextCursor: Schema.NullOr(Schema.String) })
