/**
 * Triggers of workflows, as promises.
 */
import type { Transport } from "../Transport.ts"
import type * as Wire from "./TriggerWire.ts"
import type { CallOptions } from "./Ask.ts"
import { makeAsk } from "./Ask.ts"
import type { Given } from "./Given.ts"

/** A trigger; a schedule with its next times. Times are ISO 8601 in UTC. */
export type Trigger = typeof Wire.Trigger.Encoded

/** A trigger in a listing. */
export type TriggerItem = typeof Wire.TriggerItem.Encoded

/** A schedule with its next times. */
export type Schedule = typeof Wire.Schedule.Encoded

/** An inbound webhook: an address at which another system starts runs. */
export type InboundWebhook = typeof Wire.InboundWebhook.Encoded

/** A trigger that starts a run when a run of another workflow ends. */
export type RunEndTrigger = typeof Wire.RunEndTrigger.Encoded

/** A schedule in a listing. */
export type ScheduleItem = typeof Wire.ScheduleItem.Encoded

/** A schedule to make, with `cron` or `everySeconds`. */
export type NewSchedule = Given<typeof Wire.CreateSchedule.Encoded>

/** An inbound webhook to make. */
export type NewInboundWebhook = Given<typeof Wire.CreateWebhook.Encoded>

/** A trigger to make that follows the runs of another workflow. */
export type NewRunEndTrigger = Given<typeof Wire.CreateRunEndTrigger.Encoded>

/** A trigger to make. */
export type NewTrigger = NewSchedule | NewInboundWebhook | NewRunEndTrigger

/** The fields to set of a trigger. */
export type TriggerChange = Given<typeof Wire.UpdateTrigger.Encoded>

/** What arrived at the test address of an inbound webhook. Times are ISO 8601 in UTC. */
export type WebhookTest = typeof Wire.WebhookTest.Encoded

/** Since when all triggers of an account are paused; `null` if they are not. */
export type TriggerPause = typeof Wire.TriggerPause.Encoded

/**
 * What starts runs of a workflow by itself. A call for one workflow takes its id first. An
 * unknown trigger rejects with `TRIGGER_NOT_FOUND`.
 */
export interface Triggers {
  /** The oldest first. */
  list(workflowId: string, options?: CallOptions): Promise<ReadonlyArray<TriggerItem>>
  /**
   * Makes an inbound webhook. Its `path`, below the path at which the interface is mounted, is the
   * address; nothing shows it again. Rejects with `INVALID_TRIGGER` for a secret that is not there.
   */
  create(
    workflowId: string,
    trigger: NewInboundWebhook,
    options?: CallOptions,
  ): Promise<InboundWebhook & { readonly path: string }>
  /**
   * Makes a schedule. Rejects with `INVALID_TRIGGER` if it is never due, and with `INVALID_GRAPH`
   * if a start with its values would be refused.
   */
  create(workflowId: string, trigger: NewSchedule, options?: CallOptions): Promise<Schedule>
  /**
   * Makes a trigger that starts a run whenever a run of the workflow `watch` ends. Rejects with
   * `INVALID_TRIGGER` if there is no such workflow, or it is the same one.
   */
  create(
    workflowId: string,
    trigger: NewRunEndTrigger,
    options?: CallOptions,
  ): Promise<RunEndTrigger>
  get(workflowId: string, triggerId: string, options?: CallOptions): Promise<Trigger>
  /** Sets the given fields. With other times it begins now: nothing before is caught up. */
  update(
    workflowId: string,
    triggerId: string,
    change: TriggerChange,
    options?: CallOptions,
  ): Promise<Trigger>
  /** Gives an inbound webhook a new address, which nothing shows again. The old one is gone. */
  readdress(
    workflowId: string,
    triggerId: string,
    options?: CallOptions,
  ): Promise<InboundWebhook & { readonly path: string }>
  /**
   * Gives an inbound webhook a test address for an hour, also one that is switched off. Its `path`
   * is shown this once. What comes there is judged as at the other address, and starts no run.
   */
  beginTest(
    workflowId: string,
    triggerId: string,
    options?: CallOptions,
  ): Promise<WebhookTest & { readonly path: string }>
  /** The last requests that arrived at the test address, and what would have become of each. */
  readTest(workflowId: string, triggerId: string, options?: CallOptions): Promise<WebhookTest>
  /** Takes the test address away, with what arrived there. */
  endTest(workflowId: string, triggerId: string, options?: CallOptions): Promise<void>
  /** Its runs stay. */
  remove(workflowId: string, triggerId: string, options?: CallOptions): Promise<void>
  /** Whether the triggers of the account are paused. */
  paused(options?: CallOptions): Promise<TriggerPause>
  /**
   * Pauses all triggers of the account, also those made later. What is due meanwhile starts nothing
   * later either, and is not counted as missed.
   */
  pause(options?: CallOptions): Promise<TriggerPause>
  /** Resumes them: what is due from now on starts runs. */
  resume(options?: CallOptions): Promise<TriggerPause>
}

/** The triggers that a transport reaches. */
export const makeTriggers = (transport: Transport): Triggers => {
  const ask = makeAsk(transport)
  const read = async (...given: Parameters<typeof ask>) => (await ask(...given)).body as never
  return {
    list: async (id, options) => {
      const { body } = await ask("triggers.list", { id, options })
      return (body as typeof Wire.Triggers.Encoded).items
    },
    create: (id: string, body: NewTrigger, options?: CallOptions) =>
      read("triggers.create", { id, body, options }),
    get: (id, triggerId, options) => read("triggers.get", { id, triggerId, options }),
    update: (id, triggerId, body, options) =>
      read("triggers.update", { id, triggerId, body, options }),
    readdress: (id, triggerId, options) => read("triggers.readdress", { id, triggerId, options }),
    beginTest: (id, triggerId, options) => read("triggers.beginTest", { id, triggerId, options }),
    readTest: (id, triggerId, options) => read("triggers.readTest", { id, triggerId, options }),
    endTest: async (id, triggerId, options) =>
      void (await ask("triggers.endTest", { id, triggerId, options })),
    remove: async (id, triggerId, options) =>
      void (await ask("triggers.remove", { id, triggerId, options })),
    paused: (options) => read("triggers.paused", { options }),
    pause: (options) => read("triggers.pause", { options }),
    resume: (options) => read("triggers.resume", { options }),
  }
}
