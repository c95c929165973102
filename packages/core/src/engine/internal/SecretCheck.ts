/**
 * Whether an account has the secrets that a graph names.
 *
 * Guarantees: a graph without secrets needs no read. Leaves out: where a graph may name one.
 */
import { Effect } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import { suggestion } from "../../domain/Nearest.ts"
import type { PinnedOutputs } from "../../domain/Run.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { problemOfMissing, secretsOf } from "../../graph/internal/SecretNames.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { SecretSource } from "../CurrentSecrets.ts"

export interface SecretCheck {
  /**
   * A problem for each place that names a secret which the account does not have. A node whose
   * output is pinned needs none.
   */
  readonly problemsOf: (
    account: AccountId,
    graph: Graph,
    pinned: PinnedOutputs,
  ) => Effect.Effect<ReadonlyArray<Problem>, StorageError>
}

const none: ReadonlyArray<Problem> = []

export const secretCheck = ({ names }: SecretSource): SecretCheck => ({
  problemsOf: (account, { inner, secrets }, pinned) => {
    const all = [...secrets, ...inner.flatMap(secretsOf)]
    const needed = all.filter(({ nodeId }) => !Object.hasOwn(pinned, nodeId))
    if (needed.length === 0) return Effect.succeed(none)
    return Effect.map(names(account), (known) =>
      needed
        .filter(({ name }) => !known.includes(name))
        .map((use) => problemOfMissing(use, suggestion(use.name, known))),
    )
  },
})
