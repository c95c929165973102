/**
 * The work of `millrace credits`.
 *
 * Guarantees: a value that no server would accept is refused before anything is opened, with the
 * server's message.
 */
import type { AccountCredits } from "@millrace/api/AdminCreditsWire"
import * as Wire from "@millrace/api/AdminCreditsWire"
import type { Account } from "@millrace/core/domain/Account"
import { toNumber } from "@millrace/core/domain/Credits"
import { nodeOf } from "@millrace/core/domain/Ledger"
import { entriesPerStatement } from "@millrace/core/domain/Limits"
import { csvHead, csvLineOf } from "@millrace/core/domain/StatementCsv"
import { format } from "@millrace/core/domain/Timestamp"
import { Console, Effect, Option, Schema, Stream } from "effect"
import type { Admin, Failure, Session } from "./AdminSession.ts"
import { accountNamed, print, read, table } from "./AdminSession.ts"

const sentenceOf = ({ name }: Account, { balance }: AccountCredits): string => {
  const metering = balance.metered ? "metered" : "not metered"
  const [available, reserved] = [balance.available, balance.reserved].map(toNumber)
  return `Account "${name}" is ${metering}: ${available} credits available, ${reserved} reserved`
}

type Grant = typeof Wire.Grant.Type
type Entry = typeof Wire.Entry.Type

const grantColumns = {
  grant: ({ id }: Grant) => id,
  amount: ({ amount }: Grant) => String(toNumber(amount)),
  remaining: ({ remaining }: Grant) => String(toNumber(remaining)),
  priority: ({ priority }: Grant) => String(priority),
  expires: ({ expiresAt }: Grant) => (expiresAt === null ? "never" : format(expiresAt)),
  actor: ({ actor }: Grant) => actor,
  reason: ({ reason }: Grant) => reason,
}

/** `millrace credits show`: the balance and the grants of an account. */
export const show = Effect.fnUntraced(function* (session: Session, reference: string) {
  const admin = yield* session.open
  const account = yield* accountNamed(admin, reference)
  const found = yield* admin.credits.show({ params: { id: account.id } })
  const said = sentenceOf(account, found)
  const text = { ...table(grantColumns, found.grants, said), said }
  yield* print(session, Wire.AccountCredits, found, text)
})

/** The flags that every operation has. */
export interface TypedOperation {
  readonly id?: string
  readonly actor: string
  readonly reason: string
}

/** An operation: the schema of its body, the schema of what it makes, the call, and the name. */
interface Operation<B, A, I> {
  readonly body: Schema.Codec<B, unknown>
  readonly made: Schema.Codec<A, I>
  readonly act: (
    credits: Admin["credits"],
    call: { readonly params: { readonly id: string }; readonly payload: B },
  ) => Effect.Effect<A, Failure>
  readonly nameOf: (made: A) => string
}

/** Performs an operation. Prints the name of what it made, or all of it as JSON. */
const operation = <B, A, I>({ act, body, made, nameOf }: Operation<B, A, I>) =>
  Effect.fnUntraced(function* (
    session: Session,
    reference: string,
    typed: TypedOperation & Readonly<Record<string, unknown>>,
  ) {
    const payload = yield* read(body, typed, "credits")
    const admin = yield* session.open
    const account = yield* accountNamed(admin, reference)
    const params = { id: account.id }
    const value = yield* act(admin.credits, { params, payload })
    const now = yield* admin.credits.show({ params })
    const text = { said: sentenceOf(account, now), lines: [nameOf(value)] }
    yield* print(session, made, value, text)
  })

/** `millrace credits grant`: prints the name of the grant. */
export const grant = operation({
  body: Wire.CreateGrant,
  made: Wire.Grant,
  act: (credits, call) => credits.grant(call),
  nameOf: ({ id }) => id,
})

const entryName = ({ part }: Entry): string => part

/** `millrace credits adjust`: prints the name of the entry. */
export const adjust = operation({
  body: Wire.CreateAdjustment,
  made: Wire.Entry,
  act: (credits, call) => credits.adjust(call),
  nameOf: entryName,
})

/** `millrace credits meter`: prints the name of the entry. */
export const meter = operation({
  body: Wire.SetMetering,
  made: Wire.Entry,
  act: (credits, call) => credits.meter(call),
  nameOf: entryName,
})

const entryColumns = {
  number: ({ number }: Entry) => String(number),
  at: ({ at }: Entry) => format(at),
  kind: ({ kind }: Entry) => kind,
  posted: ({ posted }: Entry) => String(toNumber(posted)),
  reserved: ({ reserved }: Entry) => String(toNumber(reserved)),
  run: ({ runId }: Entry) => runId ?? "-",
  node: (entry: Entry) => nodeOf(entry) ?? "-",
  by: ({ actor }: Entry) => actor ?? "-",
  reason: ({ reason }: Entry) => reason ?? "-",
}

/** The ledger of an account, newest entries first. */
const entriesOf = ({ credits }: Admin, id: string) =>
  Stream.paginate(undefined as number | undefined, (before) => {
    const query = { limit: entriesPerStatement, ...(before === undefined ? {} : { before }) }
    return Effect.map(
      credits.statement({ params: { id }, query }),
      ({ items, nextBefore }) => [items, Option.fromNullOr(nextBefore)] as const,
    )
  })

/** `millrace credits statement`: the newest entries, or all of them as CSV. */
export const statement = Effect.fnUntraced(function* (
  session: Session,
  reference: string,
  { csv, limit }: { readonly csv: boolean; readonly limit: number },
) {
  const admin = yield* session.open
  const { id } = yield* accountNamed(admin, reference)
  const entries = entriesOf(admin, id)
  if (csv) {
    yield* Console.log(csvHead.trimEnd())
    return yield* Stream.runForEach(entries, (entry) => Console.log(csvLineOf(entry).trimEnd()))
  }
  const items = yield* Stream.runCollect(Stream.take(entries, limit))
  const text = table(entryColumns, items, "There are no entries")
  yield* print(session, Schema.Array(Wire.Entry), items, text)
})
