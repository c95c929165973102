/**
 * Large values in a place of their own, beside the stores of runs.
 *
 * Guarantees: new values go to that place. Values that the stores of runs have from before are
 * still found. Leaves out: moving them.
 */
import type { RunStore } from "@millrace/core/ports/RunStore"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Context, Effect, Layer, Option } from "effect"

type Stores = WorkflowStore | RunStore | StoreManifest

/** The port over both places. A listing needs no older values: they go with the rows of runs. */
const over = (
  values: ValueStore["Service"],
  earlier: ValueStore["Service"] | undefined,
): ValueStore["Service"] =>
  earlier === undefined
    ? values
    : ValueStore.of({
        ...values,
        read: (key) =>
          Effect.flatMap(values.read(key), (found) =>
            Option.isSome(found) ? Effect.succeed(found) : earlier.read(key),
          ),
      })

/** The stores, with large values in the place of their own. */
export const layer = <E, E2>(
  stores: Layer.Layer<Stores, E>,
  values: Layer.Layer<ValueStore, E2>,
): Layer.Layer<Stores, E | E2> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const known = yield* Layer.build(stores)
      const manifest = Context.get(known, StoreManifest)
      const place = Context.get(yield* Layer.build(values), ValueStore)
      const earlier = manifest.ports.includes("values")
        ? Context.getOption(known as Context.Context<unknown>, ValueStore)
        : Option.none()
      const ports = [...new Set([...manifest.ports, "values" as const])]
      return known.pipe(
        Context.add(ValueStore, over(place, Option.getOrUndefined(earlier))),
        Context.add(StoreManifest, { ...manifest, ports }),
      )
    }),
  )
