/**
 * The admin operations: on accounts and their keys, on credits, on secrets, on deliveries and
 * signing secrets, on sessions, on runs in quarantine, and on node types.
 */
import type { QuarantinedRun } from "@millrace/api/AdminQuarantineWire"
import type { Delivery, DeliveryItem } from "@millrace/core/domain/Delivery"
import { AccountId, DeliveryId, KeyId, RunId } from "@millrace/core/domain/Id"
import { entriesPerPage } from "@millrace/core/domain/Limits"
import { csvHead, csvLineOf } from "@millrace/core/domain/StatementCsv"
import { Accounting } from "@millrace/core/engine/Accounting"
import { Keys } from "@millrace/core/engine/Keys"
import { Quarantine } from "@millrace/core/engine/Quarantine"
import { Secrets } from "@millrace/core/engine/Secrets"
import { TypesInUse } from "@millrace/core/engine/TypesInUse"
import type { SigningSecret } from "@millrace/core/engine/Webhooks"
import { overlapMillis, Webhooks } from "@millrace/core/engine/Webhooks"
import type { Suspect } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Redacted, Stream } from "effect"
import { logStorage } from "../Errors.ts"
import * as AdminSessionOperations from "./AdminSessionOperations.ts"
import { read as readDelivery } from "./DeliveryOperations.ts"
import type { AdminGroupName, OperationsOf } from "./Operation.ts"
import { makePaginate } from "./Paging.ts"
import { balanceOf } from "./UsageOperations.ts"

/** A call with the id of an account, a run or a delivery. */
interface ById {
  readonly params: { readonly id: string }
}

const accountOf = ({ params }: ById): AccountId => AccountId.make(params.id)

const valueOf = <A>(value: A) => ({ value })
const itemsOf = <A>(items: A) => ({ value: { items } })

const makeAccounts = Effect.map(Keys, (keys): OperationsOf<"accounts"> => ({
  list: () => Effect.map(keys.listAccounts, itemsOf),
  create: ({ payload }) => Effect.map(keys.createAccount(payload.name), valueOf),
  update: (call) => Effect.map(keys.updateAccount(accountOf(call), call.payload), valueOf),
}))

const keyOf = (call: { readonly params: { readonly id: string; readonly keyId: string } }) =>
  [accountOf(call), KeyId.make(call.params.keyId)] as const

const makeKeys = Effect.map(Keys, (keys): OperationsOf<"keys"> => ({
  list: (call) => Effect.map(keys.list(accountOf(call)), itemsOf),
  create: (call) =>
    Effect.map(keys.create(accountOf(call), call.payload), ({ key, secret }) =>
      valueOf({ ...key, secret: Redacted.value(secret) }),
    ),
  update: (call) => Effect.map(keys.update(...keyOf(call), call.payload), valueOf),
  revoke: (call) => Effect.map(keys.revoke(...keyOf(call)), valueOf),
}))

const makeCredits = Effect.map(Accounting, (accounting): OperationsOf<"credits"> => ({
  show: (call) =>
    Effect.map(accounting.find(accountOf(call)), ({ account, grants }) =>
      valueOf({ balance: balanceOf(account), grants }),
    ),
  grant: (call) => Effect.map(accounting.grant(accountOf(call), call.payload), valueOf),
  adjust: (call) => Effect.map(accounting.adjust(accountOf(call), call.payload), valueOf),
  meter: (call) => {
    const { metered, ...operation } = call.payload
    return Effect.map(accounting.meter(accountOf(call), operation, metered), valueOf)
  },
  statement: (call) => {
    const { before, limit = entriesPerPage } = call.query
    const read = accounting.statement({ account: accountOf(call), before, limit })
    return Effect.map(read, (items) => {
      const nextBefore = items.length < limit ? null : (items.at(-1)?.number ?? null)
      return valueOf({ items, nextBefore })
    })
  },
  csv: (call) => {
    const lines = Stream.map(accounting.entries(accountOf(call)), csvLineOf)
    const text = Stream.concat(Stream.succeed(csvHead), lines).pipe(
      Stream.encodeText,
      // The answer has begun, so an error can only end the connection.
      Stream.tapError(logStorage),
      Stream.orDie,
    )
    return Effect.as(accounting.find(accountOf(call)), valueOf(text))
  },
}))

/** The owner of the operators' cursors. */
const operators = AccountId.make("operators")

/** A new delivery, which has no attempt yet. */
const itemOf = ({ body: _, headers: __, origin: ___, ...head }: Delivery): DeliveryItem => ({
  ...head,
  state: "PENDING",
  attempts: 0,
  nextAttemptAt: head.createdAt,
  settledAt: null,
})

const shownSecrets = (secrets: ReadonlyArray<SigningSecret>) =>
  itemsOf(secrets.map((each) => ({ ...each, secret: Redacted.value(each.secret) })))

const makeDeliveries = Effect.gen(function* () {
  const store = yield* WebhookStore
  const webhooks = yield* Webhooks
  const paginate = yield* makePaginate
  return {
    list: ({ query }) => {
      const page = paginate(operators, "deliveries", query, (filter, wanted) => {
        const { accountId, runId, state } = filter
        const account = accountId === undefined ? null : AccountId.make(accountId)
        const ofRun = runId === undefined ? undefined : RunId.make(runId)
        return store.list({ account, runId: ofRun, state, ...wanted })
      })
      return Effect.map(page, valueOf)
    },
    get: ({ params }) => readDelivery(store, null, params.id),
    redeliver: ({ params }) =>
      Effect.map(webhooks.redeliver(null, DeliveryId.make(params.id)), valueOf),
  } satisfies Partial<OperationsOf<"webhooks">>
})

const makeWebhooks = Effect.gen(function* () {
  const keys = yield* Keys
  const store = yield* WebhookStore
  const webhooks = yield* Webhooks

  /** The account. Fails if there is none. */
  const existing = (account: AccountId) => Effect.as(keys.list(account), account)

  return {
    ...(yield* makeDeliveries),
    redeliverFailed: Effect.fnUntraced(function* ({ payload: { accountId, since } }) {
      const account = accountId === undefined ? null : yield* existing(AccountId.make(accountId))
      return valueOf({ count: yield* store.redeliverFailed(account, since) })
    }),
    secrets: (call) =>
      Effect.map(Effect.flatMap(existing(accountOf(call)), webhooks.secrets), shownSecrets),
    rotate: Effect.fnUntraced(function* (call) {
      const { overlapSeconds } = call.payload
      const overlap = overlapSeconds === undefined ? overlapMillis : overlapSeconds * 1_000
      const account = yield* existing(accountOf(call))
      return shownSecrets(yield* webhooks.rotate(account, overlap))
    }),
    test: Effect.fnUntraced(function* (call) {
      const account = yield* existing(accountOf(call))
      return valueOf(itemOf(yield* webhooks.test(account, call.payload)))
    }),
  } satisfies OperationsOf<"webhooks">
})

const makeSecrets = Effect.gen(function* () {
  const keys = yield* Keys
  const secrets = yield* Secrets

  /** The account. Fails if there is none. */
  const existing = (call: ById) => Effect.as(keys.list(accountOf(call)), accountOf(call))

  return {
    list: (call) => Effect.map(Effect.flatMap(existing(call), secrets.list), itemsOf),
    set: Effect.fnUntraced(function* (call) {
      const { hosts, value } = call.payload
      const account = yield* existing(call)
      const secret = { name: call.params.name, value: Redacted.make(value), hosts }
      return valueOf(yield* secrets.set(account, secret))
    }),
    remove: Effect.fnUntraced(function* (call) {
      return valueOf(yield* secrets.remove(yield* existing(call), call.params.name))
    }),
  } satisfies OperationsOf<"secrets">
})

/** A run in quarantine on the wire. */
const shownRun = ({ holder, record }: Suspect): QuarantinedRun => {
  const { accountId, createdAt, id, losses, status, workflowId, workflowName } = record.run
  const head = { runId: id, accountId, workflowId, workflowName, status, createdAt, holder }
  return {
    ...head,
    losses: losses.map((loss) => ({
      runner: loss.runner,
      lostAt: loss.lostAt,
      cause: loss.cause,
      millis: loss.cause === "blocked" ? loss.millis : null,
      nodes: loss.nodes.map((place) => record.definition.nodes[place]?.id ?? String(place)),
    })),
  }
}

const makeQuarantine = Effect.map(Quarantine, (quarantine): OperationsOf<"quarantine"> => ({
  list: () => Effect.map(quarantine.list, (all) => itemsOf(all.map(shownRun))),
  release: ({ params }) => {
    const runId = RunId.make(params.id)
    return Effect.as(quarantine.release(runId), valueOf({ runId }))
  },
  end: ({ params }) =>
    Effect.map(quarantine.end(RunId.make(params.id)), ({ error, id, status }) =>
      valueOf({ runId: id, status, error }),
    ),
}))

const makeTypes = Effect.map(TypesInUse, (types): OperationsOf<"types"> => ({
  list: () =>
    Effect.map(types.list, (all) =>
      itemsOf(
        all.map(({ known, ...use }) => ({
          ...use,
          isKnown: known !== undefined,
          origin: known?.origin ?? null,
          deprecated: known?.deprecated ?? null,
        })),
      ),
    ),
}))

/** The admin operations, by group and name. */
export const make = Effect.gen(function* () {
  const accounting = yield* Accounting
  const groups: { readonly [G in AdminGroupName]: OperationsOf<G> } = {
    accounts: yield* makeAccounts,
    keys: yield* makeKeys,
    credits: yield* makeCredits,
    audit: { audit: () => Effect.map(accounting.audit, valueOf) },
    webhooks: yield* makeWebhooks,
    secrets: yield* makeSecrets,
    quarantine: yield* makeQuarantine,
    types: yield* makeTypes,
    sessions: yield* AdminSessionOperations.make,
  }
  return groups
})
