/**
 * Deliveries of webhooks on a server, as promises.
 */
import type { DeliveryState } from "@millrace/core/domain/Delivery"
import type * as Wire from "../DeliveryWire.ts"
import type { Listing, PageQuery } from "./PromiseListing.ts"
import { makeListing } from "./PromiseListing.ts"
import type { Send } from "./Transport.ts"

/** A delivery with what is sent and every attempt. */
export type Delivery = typeof Wire.DeliveryDetail.Encoded

/** Which deliveries of a run to list. */
export interface DeliveryFilter extends Omit<PageQuery, "search"> {
  readonly state?: DeliveryState
}

/** The deliveries of the key's account. */
export interface Deliveries {
  /** Those of a run, newest first. */
  list(runId: string, query?: DeliveryFilter): Listing<typeof Wire.DeliveryItem.Encoded>
  get(id: string): Promise<Delivery>
  /** Sends it again, whatever became of it. */
  redeliver(id: string): Promise<typeof Wire.DeliveryItem.Encoded>
}

/** The deliveries that a key sees. */
export const makeDeliveries = (send: Send): Deliveries => {
  const ask = async <A>(method: string, path: string) =>
    (await (await send(method, path)).json()) as A
  const at = (id: string) => `/deliveries/${encodeURIComponent(id)}`
  return {
    list: (runId, query = {}) =>
      makeListing(send, `/runs/${encodeURIComponent(runId)}/deliveries`, query),
    get: (id) => ask("GET", at(id)),
    redeliver: (id) => ask("POST", `${at(id)}/redeliver`),
  }
}
