/**
 * The work of `millrace keys`. A secret is printed when it is made, and never again.
 */
import type { CreateKey, UpdateKey } from "@millrace/api/AdminWire"
import { AccountKeys, CreateAccount, CreatedKey, Key } from "@millrace/api/AdminWire"
import type { Account } from "@millrace/core/domain/Account"
import { isLive } from "@millrace/core/domain/ApiKey"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { format } from "@millrace/core/domain/Timestamp"
import { Clock, Console, Effect } from "effect"
import type { Admin, Failure, Session } from "./AdminSession.ts"
import { accountsNamed, print, read, refuse, table } from "./AdminSession.ts"

const limitsOf = ({ perDay, perMinute }: Key): string =>
  `for ${perMinute} requests a minute and ${perDay} a day`

/** `millrace keys create`: prints the secret alone, or the key with its secret as JSON. */
export const create = Effect.fnUntraced(function* (
  session: Session,
  accountName: string,
  wanted: typeof CreateKey.Type,
) {
  const { accounts, keys } = yield* session.open
  const { items } = yield* accounts.list()
  const [found] = accountsNamed(items, accountName)
  const name = yield* read(CreateAccount.fields.name, accountName, "account")
  const account = found ?? (yield* accounts.create({ payload: { name } }))
  const key = yield* keys.create({ params: { id: account.id }, payload: wanted })
  yield* Console.error(
    `Key "${key.label}" of account "${account.name}", ${limitsOf(key)}. It is shown only this ` +
      "once:",
  )
  yield* print(session, CreatedKey, key, { lines: [key.secret] })
})

interface Owned {
  readonly account: Account
  readonly key: Key
}

/** All keys of the accounts that the reference names; of all accounts without a reference. */
const keysOf = Effect.fnUntraced(function* (
  { accounts, keys }: Admin,
  reference: string | undefined,
) {
  const { items } = yield* accounts.list()
  const meant = reference === undefined ? items : accountsNamed(items, reference)
  if (reference !== undefined && meant.length === 0) {
    return yield* refuse(`There is no account "${reference}"`)
  }
  const ofAccount = (account: Account) =>
    Effect.map(keys.list({ params: { id: account.id } }), (found) =>
      found.items.map((key): Owned => ({ account, key })),
    )
  return (yield* Effect.forEach(meant, ofAccount, { concurrency: 8 })).flat()
})

const timeOf = (time: Timestamp | null): string => (time === null ? "never" : format(time))

const stateOf = (key: Key, now: Timestamp): string => {
  if (key.revokedAt !== null) return "revoked"
  return isLive(key, now) ? "live" : "expired"
}

const columnsAt = (now: Timestamp) => ({
  id: ({ key }: Owned) => key.id,
  account: ({ account }: Owned) => account.name,
  label: ({ key }: Owned) => key.label,
  prefix: ({ key }: Owned) => key.prefix,
  "a minute": ({ key }: Owned) => String(key.perMinute),
  "a day": ({ key }: Owned) => String(key.perDay),
  state: ({ key }: Owned) => stateOf(key, now),
  "last used": ({ key }: Owned) => timeOf(key.lastUsedAt),
  expires: ({ key }: Owned) => timeOf(key.expiresAt),
})

/** `millrace keys list`: prints a table, or the keys as JSON. */
export const list = Effect.fnUntraced(function* (session: Session, account: string | undefined) {
  const owned = yield* keysOf(yield* session.open, account)
  const items = owned.map(({ key }) => key)
  const columns = columnsAt(yield* Clock.currentTimeMillis)
  yield* print(session, AccountKeys, { items }, table(columns, owned, "There are no keys"))
})

/** How a user names a key. */
export interface KeyReference {
  /** Its identifier or its label. */
  readonly key: string
  /** Its account, by identifier or name; `undefined` for any. */
  readonly account: string | undefined
}

/** Finds the named key: by its identifier, or by its label among the live keys. */
const keyMeant = Effect.fnUntraced(function* (admin: Admin, { account, key: meant }: KeyReference) {
  const now = yield* Clock.currentTimeMillis
  const label = meant.trim().toLowerCase()
  const all = yield* keysOf(admin, account)
  const byId = all.filter(({ key }) => key.id === meant)
  const byLabel = all.filter(({ key }) => isLive(key, now) && key.label.toLowerCase() === label)
  const [found, second] = byId.length > 0 ? byId : byLabel
  if (found === undefined) return yield* refuse(`There is no live key "${meant}"`)
  if (second === undefined) return found
  return yield* refuse(`Several keys are called "${meant}": add --account, or use the key's id`)
})

/** Changes the named key and prints its new state. */
const changeKey = (
  session: Session,
  meant: KeyReference,
  change: (
    keys: Admin["keys"],
    params: { readonly id: string; readonly keyId: string },
  ) => Effect.Effect<Key, Failure>,
  sentenceOf: (key: Key) => string,
) =>
  Effect.gen(function* () {
    const admin = yield* session.open
    const { account, key } = yield* keyMeant(admin, meant)
    const changed = yield* change(admin.keys, { id: account.id, keyId: key.id })
    const said = `Key "${changed.label}" of account "${account.name}" ${sentenceOf(changed)}`
    yield* print(session, Key, changed, { said, lines: [changed.id] })
  })

/** `millrace keys update`. */
export const update = (session: Session, meant: KeyReference, payload: typeof UpdateKey.Type) =>
  changeKey(
    session,
    meant,
    (keys, params) => keys.update({ params, payload }),
    (key) => `is now ${limitsOf(key)}`,
  )

/** `millrace keys revoke`. */
export const revoke = (session: Session, meant: KeyReference) =>
  changeKey(
    session,
    meant,
    (keys, params) => keys.revoke({ params }),
    () => "is refused from now on",
  )
