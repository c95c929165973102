/**
 * The operations on the triggers of workflows. They extend the specification.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { IdParams } from "../Text.ts"
import {
  CreateTrigger,
  InboundWebhook,
  Trigger,
  TriggerParams,
  TriggerPause,
  Triggers,
  UpdateTrigger,
  WebhookTest,
} from "./TriggerWire.ts"
import { bodyErrors, Conflict, NotFound } from "../WireError.ts"
import { described, titled } from "./Words.ts"

const list = described(
  "List triggers",
  "All of a workflow, the oldest first.",
  HttpApiEndpoint.get("list", "/", { params: IdParams, success: Triggers, error: NotFound }),
)

const create = described(
  "Make a trigger",
  "A schedule, by a cron text or an interval: each of its times starts one run, however many " +
    "servers there are; the run names it. One that is on is refused where a start with its " +
    "values would be. What is refused later, such as for a lack of credits, is recorded as " +
    "missed. Or an inbound webhook: an address at which another system starts runs. The answer " +
    "has the path of the address, and nothing shows it again. Or `run_end`: each run of another " +
    "workflow that ends starts one run. At most 10 runs follow each other in this way.",
  HttpApiEndpoint.post("create", "/", {
    params: IdParams,
    payload: CreateTrigger,
    success: Trigger.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const get = described(
  "Read a trigger",
  "With its next ten times.",
  HttpApiEndpoint.get("get", "/:triggerId", {
    params: TriggerParams,
    success: Trigger,
    error: NotFound,
  }),
)

const update = described(
  "Change a trigger",
  "Sets the fields that are given. `cron` takes the place of `everySeconds`, and vice versa. One " +
    "that is switched on, or gets other times, begins now: nothing before is caught up.",
  HttpApiEndpoint.patch("update", "/:triggerId", {
    params: TriggerParams,
    payload: UpdateTrigger,
    success: Trigger,
    error: [...bodyErrors, NotFound],
  }),
)

const readdress = described(
  "Give a webhook a new address",
  "The answer has the path of the new address, and nothing shows it again. The old address is " +
    "nothing any more.",
  HttpApiEndpoint.post("readdress", "/:triggerId/address", {
    params: TriggerParams,
    success: InboundWebhook,
    error: NotFound,
  }),
)

const beginTest = described(
  "Make a test address of a webhook",
  "For an hour, also of a webhook that is switched off. What comes there is judged as at the " +
    "other address, and starts no run; the owner reads what arrived, and what would have become " +
    "of it. The answer has the path, and nothing shows it again. A second call makes another one.",
  HttpApiEndpoint.post("beginTest", "/:triggerId/test", {
    params: TriggerParams,
    success: WebhookTest,
    error: NotFound,
  }),
)

const readTest = described(
  "Read what arrived at a test address",
  "The last requests, also after it has expired, until another one is made.",
  HttpApiEndpoint.get("readTest", "/:triggerId/test", {
    params: TriggerParams,
    success: WebhookTest,
    error: NotFound,
  }),
)

const endTest = described(
  "Take a test address away",
  "With what arrived there.",
  HttpApiEndpoint.delete("endTest", "/:triggerId/test", {
    params: TriggerParams,
    success: HttpApiSchema.NoContent,
    error: NotFound,
  }),
)

const remove = described(
  "Remove a trigger",
  "Its runs stay. A trigger is also gone with its workflow, and with the one that it watches.",
  HttpApiEndpoint.delete("remove", "/:triggerId", {
    params: TriggerParams,
    success: HttpApiSchema.NoContent,
    error: NotFound,
  }),
)

const paused = described(
  "Read whether triggers are paused",
  "All triggers of the account.",
  HttpApiEndpoint.get("paused", "/triggers/pause", { success: TriggerPause }),
)

const pause = described(
  "Pause all triggers",
  "No trigger of the account starts a run, also none that is made meanwhile. What is due then " +
    "starts nothing later either, and is not counted as missed; the address of a webhook answers " +
    "404. Starts that have begun go on for some seconds. Nothing changes if they are paused.",
  HttpApiEndpoint.post("pause", "/triggers/pause", { success: TriggerPause }),
)

const resume = described(
  "Resume all triggers",
  "What is due from now on starts runs. Triggers that are switched off stay so.",
  HttpApiEndpoint.post("resume", "/triggers/resume", { success: TriggerPause }),
)

/** `/workflows/{id}/triggers`, and the switch for all of an account. */
export class TriggersApi extends HttpApiGroup.make("triggers")
  .add(list, create, get, update, readdress, beginTest, readTest, endTest, remove)
  .prefix("/workflows/:id/triggers")
  .add(paused, pause, resume)
  .annotateMerge(
    titled(
      "Triggers",
      "What starts runs of a workflow by itself: schedules, inbound webhooks, and ends of " +
        "runs of other workflows.",
    ),
  ) {}
