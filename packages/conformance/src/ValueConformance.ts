/**
 * The suite for a store of large values that is not in the database of its runs.
 *
 * Guarantees: tests use identifiers of their own, so the store may hold other values.
 */
import { layer } from "@effect/vitest"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { ValueStore } from "@millrace/core/ports/ValueStore"
import type { Layer } from "effect"
import { valueStoreSuite } from "./internal/ValueStoreSuite.ts"

/**
 * Registers a block of tests over one build of the layer, in the test file that calls it. Runs may
 * be in any store. Runs on the real clock.
 */
export const valueConformance = <E>(
  name: string,
  stores: Layer.Layer<ValueStore | RunStore, E>,
): void =>
  layer(stores, { timeout: "120 seconds", excludeTestServices: true })(name, valueStoreSuite)
