/**
 * What nodes of earlier runs have put out, with their large values, for a start that uses it.
 *
 * Guarantees: reads no more bytes than a request may have.
 */
import { Effect, Result } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { placedIn, withLarge } from "../../domain/LargeValue.ts"
import { CurrentLimits } from "../../domain/Limits.ts"
import type { LatestOutput } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { ValueSource } from "./CurrentValues.ts"

/** The outputs by node, or why they cannot be had, as a clause. */
export const wholeOutputs = Effect.fnUntraced(function* (
  { values }: { readonly values: ValueSource | undefined },
  account: AccountId,
  stored: ReadonlyMap<string, LatestOutput>,
): Effect.fn.Return<Result.Result<ReadonlyMap<string, JsonObject>, string>, StorageError> {
  const { bodyBytes } = yield* CurrentLimits
  const large = [...stored.values()].flatMap(({ largeValues }) => placedIn(largeValues, "/output"))
  const bytes = large.reduce((sum, each) => sum + each.bytes, 0)
  if (bytes > bodyBytes) {
    return Result.fail(`their outputs have ${bytes} bytes; a start takes at most ${bodyBytes}`)
  }
  const outputs = new Map<string, JsonObject>()
  for (const [nodeId, { largeValues, output, runId }] of stored) {
    let whole = output
    for (const placed of placedIn(largeValues, "/output")) {
      const json = yield* values?.load({ account, runId, id: placed.id }) ?? Effect.undefined
      if (json === undefined) return Result.fail(`the stored value ${placed.id} is gone`)
      whole = withLarge(whole, "/output", [placed], () => json)
    }
    outputs.set(nodeId, whole)
  }
  return Result.succeed(outputs)
})
