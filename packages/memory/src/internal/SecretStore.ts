/**
 * The store of secrets in memory.
 *
 * Guarantees: every method is one synchronous step. Leaves out: durability.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { secretsPerAccount, secretUsersListed } from "@millrace/core/domain/Limits"
import type { Secret } from "@millrace/core/domain/Secret"
import { sealedBy, secretsNamedBy } from "@millrace/core/domain/Secret"
import type { SealedSecret } from "@millrace/core/ports/SecretStore"
import { SecretStore, TooManySecrets } from "@millrace/core/ports/SecretStore"
import { Clock, Effect, Layer } from "effect"
import { StoredWorkflows } from "./StoredWorkflows.ts"

const withoutSeal = ({ accountId: _, sealed: __, ...secret }: SealedSecret): Secret => secret

const make = Effect.gen(function* () {
  const workflows = yield* StoredWorkflows
  const byAccount = new Map<AccountId, Map<string, SealedSecret>>()
  const of = (account: AccountId) => byAccount.get(account) ?? new Map<string, SealedSecret>()
  const all = () => [...byAccount.values()].flatMap((secrets) => [...secrets.values()])

  return SecretStore.of({
    put: (secret) =>
      Effect.suspend(() => {
        const secrets = of(secret.accountId)
        const known = secrets.get(secret.name)
        if (known === undefined && secrets.size >= secretsPerAccount) {
          return new TooManySecrets({ limit: secretsPerAccount })
        }
        const { createdAt, lastUsedAt } = known ?? secret
        const stored = { ...secret, createdAt, lastUsedAt }
        byAccount.set(secret.accountId, secrets.set(secret.name, stored))
        return Effect.succeed(withoutSeal(stored))
      }),
    remove: (account, name) => Effect.sync(() => of(account).delete(name)),
    list: (account) =>
      Effect.sync(() =>
        Array.from(of(account).values(), withoutSeal).toSorted((a, b) =>
          a.name < b.name ? -1 : 1,
        ),
      ),
    find: (account, names) =>
      Effect.sync(() => names.flatMap((name) => of(account).get(name) ?? [])),
    markUsed: (account, names) =>
      Effect.map(Clock.currentTimeMillis, (lastUsedAt) => {
        for (const name of names) {
          const known = of(account).get(name)
          if (known !== undefined) of(account).set(name, { ...known, lastUsedAt })
        }
      }),
    users: (account) =>
      Effect.sync(() => {
        const users = workflows.all(account).flatMap(({ id, name, nodes }) => {
          const published = workflows.current(account, id)?.nodes ?? []
          const names = secretsNamedBy([...nodes, ...published])
          return names.length === 0 ? [] : [{ workflowId: id, workflowName: name, names }]
        })
        return users.slice(0, secretUsersListed)
      }),
    secretOfEachKey: Effect.sync(() => [
      ...new Map(all().map((each) => [sealedBy(each.sealed), each])).values(),
    ]),
    sealedOtherwise: (keyName, limit) =>
      Effect.sync(() =>
        all()
          .filter((each) => sealedBy(each.sealed) !== keyName)
          .slice(0, limit),
      ),
    reseal: ({ accountId, name, sealed }, next) =>
      Effect.sync(() => {
        const known = of(accountId).get(name)
        if (known?.sealed === sealed) of(accountId).set(name, { ...known, sealed: next })
      }),
  })
})

/** A store of secrets. It reads the workflows of the workflow store. */
export const layer: Layer.Layer<SecretStore, never, StoredWorkflows> = Layer.effect(
  SecretStore,
  make,
)
