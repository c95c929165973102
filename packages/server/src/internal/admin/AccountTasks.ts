/**
 * The work of `millrace accounts`.
 */
import { Account, Accounts } from "@millrace/api/AdminWire"
import { format } from "@millrace/core/domain/Timestamp"
import type { AccountChange } from "@millrace/core/ports/KeyStore"
import { Effect } from "effect"
import type { Session } from "./AdminSession.ts"
import { accountNamed, print, table } from "./AdminSession.ts"

/** `millrace accounts create`: prints the identifier, or the account as JSON. */
export const create = Effect.fnUntraced(function* (session: Session, name: string) {
  const { accounts } = yield* session.open
  const account = yield* accounts.create({ payload: { name } })
  yield* print(session, Account, account, {
    said: `Account "${account.name}"`,
    lines: [account.id],
  })
})

const capSentence = ({ name, runsAtOnce }: Account): string =>
  runsAtOnce === null
    ? `Account "${name}" has no cap of its own; only the servers' limits hold`
    : `Account "${name}" has at most ${runsAtOnce} runs in progress`

/** `millrace accounts update`: prints the identifier, or the account as JSON. */
export const update = Effect.fnUntraced(function* (
  session: Session,
  reference: string,
  change: AccountChange,
) {
  const admin = yield* session.open
  const { id } = yield* accountNamed(admin, reference)
  const account = yield* admin.accounts.update({ params: { id }, payload: change })
  yield* print(session, Account, account, { said: capSentence(account), lines: [account.id] })
})

const columns = {
  id: ({ id }: Account) => id,
  name: ({ name }: Account) => name,
  created: ({ createdAt }: Account) => format(createdAt),
  "runs at once": ({ runsAtOnce }: Account) => String(runsAtOnce ?? "none"),
}

/** `millrace accounts list`: prints a table, or all accounts as JSON. */
export const list = Effect.fnUntraced(function* (session: Session) {
  const { items } = yield* (yield* session.open).accounts.list()
  yield* print(session, Accounts, { items }, table(columns, items, "There are no accounts"))
})
