/**
 * The suite that every webhook store must pass, together with the run store that fills it.
 *
 * Guarantees and conditions are those of the suite of all stores. Leaves out: sending anything.
 */
import { layer } from "@effect/vitest"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
import type { Layer } from "effect"
import { deliveryClaimSuite } from "./internal/DeliveryClaimSuite.ts"
import { deliveryReadSuite } from "./internal/DeliveryReadSuite.ts"
import { signingSecretSuite } from "./internal/SigningSecretSuite.ts"

/**
 * Registers, in the test file that calls it, a block of tests over one build of the layer. No
 * dispatcher may be at work in the same database meanwhile.
 */
export const deliveryConformance = <E>(
  name: string,
  stores: Layer.Layer<RunStore | WebhookStore, E>,
): void =>
  layer(stores, { timeout: "120 seconds", excludeTestServices: true })(name, (it) => {
    deliveryClaimSuite(it)
    deliveryReadSuite(it)
    signingSecretSuite(it)
  })
