/**
 * Deliveries of webhooks, as promises.
 */
import type { DeliveryState } from "@millrace/core/domain/Delivery"
import type * as Wire from "../DeliveryWire.ts"
import type { Transport } from "../Transport.ts"
import type { CallOptions } from "./Ask.ts"
import { makeAsk } from "./Ask.ts"
import type { Given } from "./Given.ts"
import type { Listing, PageQuery } from "./Pages.ts"
import { makeListing } from "./Pages.ts"

/** A delivery with its body and every attempt. */
export type Delivery = typeof Wire.DeliveryDetail.Encoded

/** A delivery in a listing. */
export type DeliveryItem = typeof Wire.DeliveryItem.Encoded

/** Which failed deliveries to send again: by `since`, only those of events that are not older. */
export type ResendRequest = Given<typeof Wire.ResendFailed.Encoded>

/** Which deliveries to list. */
export interface DeliveryQuery extends PageQuery {
  readonly state?: DeliveryState
}

/** The deliveries of the account. An unknown id rejects with `DELIVERY_NOT_FOUND`. */
export interface Deliveries {
  /** The deliveries of a run, newest first. Rejects with `RUN_NOT_FOUND`. */
  list(runId: string, query?: DeliveryQuery, options?: CallOptions): Listing<DeliveryItem>
  /** The deliveries of all runs, newest first. */
  listAll(query?: DeliveryQuery, options?: CallOptions): Listing<DeliveryItem>
  get(id: string, options?: CallOptions): Promise<Delivery>
  /** Sends a delivery again, whatever its state. */
  redeliver(id: string, options?: CallOptions): Promise<DeliveryItem>
  /** Sends all failed deliveries again; answers with their number. */
  redeliverFailed(request?: ResendRequest, options?: CallOptions): Promise<number>
}

/** The deliveries that a transport reaches. */
export const makeDeliveries = (transport: Transport): Deliveries => {
  const ask = makeAsk(transport)
  const list = makeListing<DeliveryItem, DeliveryQuery>(ask, "deliveries.list", ["state"])
  const listAll = makeListing<DeliveryItem, DeliveryQuery>(ask, "deliveries.listAll", ["state"])
  return {
    listAll: (query = {}, options) => listAll(query, options),
    redeliverFailed: async (body = {}, options) => {
      const answer = await ask("deliveries.redeliverFailed", { body, options })
      return (answer.body as typeof Wire.Redelivered.Encoded).count
    },
    list: (runId, query = {}, options) => list(query, options, runId),
    get: async (id, options) => (await ask("deliveries.get", { id, options })).body as Delivery,
    redeliver: async (id, options) =>
      (await ask("deliveries.redeliver", { id, options })).body as DeliveryItem,
  }
}
