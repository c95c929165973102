/**
 * Who is told of what a trigger does: the address of its webhook, and the events that it gets.
 *
 * Metadata stay as they are. Leaves out: headers, which nobody is shown; a change drops them.
 */
import type { NewSchedule, TriggerItem } from "@millrace/api/PromiseClient"
import type { Texts } from "./TextFields.tsx"
import { Choice, Line } from "./TextFields.tsx"

type Known = Pick<TriggerItem, "webhook"> | undefined
type Webhook<T extends Pick<NewSchedule, "webhook">> = NonNullable<T["webhook"]>

/** The webhook of a trigger as texts. Its events are `all`, or their types. */
export const receiverTextsOf = (known: Known) => ({
  webhook: known?.webhook?.url ?? "",
  events: known?.webhook?.events?.join(" ") ?? "all",
})
type ReceiverTexts = ReturnType<typeof receiverTextsOf>

/** The webhook to set; none where nothing has changed, because its headers are not known here. */
export const receiverOf = <T extends Pick<NewSchedule, "webhook">>(
  texts: ReceiverTexts,
  known: Known,
): { readonly webhook?: Webhook<T> | null } => {
  const url = texts.webhook.trim()
  const before = receiverTextsOf(known)
  if (url === before.webhook && texts.events === before.events) return {}
  if (url === "") return { webhook: null }
  const metadata = known?.webhook?.metadata ?? null
  const events = texts.events === "all" ? {} : { events: texts.events.split(" ") }
  return { webhook: { url, ...(metadata === null ? {} : { metadata }), ...events } as Webhook<T> }
}

const ends = "run.completed run.failed run.canceled"

/** What the address may be told of, whatever the trigger is. */
const ofRuns = { all: "All that its runs do", [ends]: "The ends of its runs" }

/** The same of a schedule. */
export const ofSchedule = {
  all: "All that its runs do, and times that started none",
  [ends]: "The ends of its runs",
  "schedule.missed": "Times that started no run",
}

/** The fields of the webhook. `known`: the trigger that is changed, if it is not a new one. */
export const TriggerReceiver = ({
  choices = ofRuns,
  known,
  ...given
}: Texts<keyof ReceiverTexts> & {
  readonly choices?: Readonly<Record<string, string>>
  readonly known: Known
}) => {
  const { events } = given.texts
  return (
    <details>
      <summary>Tell somebody</summary>
      <Line
        {...given}
        name="webhook"
        label="Address that is told, with https"
        type="url"
        placeholder="https://example.com/hooks/flows"
      />
      <Choice {...given} name="events" label="It is told of">
        {Object.entries(choices).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
        {!(events in choices) && <option value={events}>{events}</option>}
      </Choice>
      {(known?.webhook ?? null) !== null && (
        <p className="quiet">A change of these two takes away headers that were set elsewhere.</p>
      )}
    </details>
  )
}
