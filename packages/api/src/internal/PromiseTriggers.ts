/**
 * Triggers of workflows, as promises.
 */
import type { Transport } from "../Transport.ts"
import type * as Wire from "./TriggerWire.ts"
import type { CallOptions } from "./Ask.ts"
import { makeAsk } from "./Ask.ts"
import type { Given } from "./Given.ts"

/** A trigger with its next times. Times are ISO 8601 in UTC. */
export type Trigger = typeof Wire.Trigger.Encoded

/** A trigger in a listing. */
export type TriggerItem = typeof Wire.TriggerItem.Encoded

/** A trigger to make: a schedule with `cron` or `everySeconds`. */
export type NewTrigger = Given<typeof Wire.CreateTrigger.Encoded>

/** The fields to set of a trigger. */
export type TriggerChange = Given<typeof Wire.UpdateTrigger.Encoded>

/**
 * What starts runs of a workflow by itself. Every call takes the workflow's id first. An unknown
 * trigger rejects with `TRIGGER_NOT_FOUND`.
 */
export interface Triggers {
  /** The oldest first. */
  list(workflowId: string, options?: CallOptions): Promise<ReadonlyArray<TriggerItem>>
  /**
   * Rejects with `INVALID_TRIGGER` if it is never due, and with `INVALID_GRAPH` if a start with its
   * values would be refused.
   */
  create(workflowId: string, trigger: NewTrigger, options?: CallOptions): Promise<Trigger>
  get(workflowId: string, triggerId: string, options?: CallOptions): Promise<Trigger>
  /** Sets the given fields. With other times it begins now: nothing before is caught up. */
  update(
    workflowId: string,
    triggerId: string,
    change: TriggerChange,
    options?: CallOptions,
  ): Promise<Trigger>
  /** Its runs stay. */
  remove(workflowId: string, triggerId: string, options?: CallOptions): Promise<void>
}

/** The triggers that a transport reaches. */
export const makeTriggers = (transport: Transport): Triggers => {
  const ask = makeAsk(transport)
  const read = async (...given: Parameters<typeof ask>) => (await ask(...given)).body as Trigger
  return {
    list: async (id, options) => {
      const { body } = await ask("triggers.list", { id, options })
      return (body as typeof Wire.Triggers.Encoded).items
    },
    create: (id, body, options) => read("triggers.create", { id, body, options }),
    get: (id, triggerId, options) => read("triggers.get", { id, triggerId, options }),
    update: (id, triggerId, body, options) =>
      read("triggers.update", { id, triggerId, body, options }),
    remove: async (id, triggerId, options) =>
      void (await ask("triggers.remove", { id, triggerId, options })),
  }
}
