/**
 * A schedule of a workflow, to make or to change.
 *
 * Leaves out: reading cron texts; the server says when they are due.
 */
import type { NewSchedule, Schedule } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { client } from "../Console.ts"
import { timeZone } from "../Words.ts"
import type { Texts } from "./TextFields.tsx"
import { Choice, Line, Lines } from "./TextFields.tsx"
import { TriggerForm } from "./TriggerForm.tsx"
import { ofSchedule, receiverOf, receiverTextsOf, TriggerReceiver } from "./TriggerReceiver.tsx"
import { TriggerVersion, versionOf, versionTextOf } from "./TriggerVersion.tsx"

/** A schedule as texts. */
type ScheduleTexts = ReturnType<typeof textsOf>

/** A time as a field of the browser has it: in the viewer's zone, without one. */
const localOf = (at: string | null): string => {
  if (at === null) return ""
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const timeOf = (local: string): string | null =>
  local === "" ? null : new Date(local).toISOString()

const textsOf = (known: Schedule | undefined) => ({
  kind: (known !== undefined && known.cron === null ? "every" : "cron") as string,
  cron: known?.cron ?? "",
  timezone: known?.timezone ?? timeZone,
  everySeconds: String(known?.everySeconds ?? ""),
  startAt: localOf(known?.startAt ?? null),
  endAt: localOf(known?.endAt ?? null),
  values: JSON.stringify(known?.values ?? {}),
  version: versionTextOf(known),
  catchUp: (known?.catchUp ?? "none") as string,
  overlap: (known?.overlap ?? "allow") as string,
  jitterSeconds: String(known?.jitterSeconds ?? 0),
  ...receiverTextsOf(known),
})

/** What the server is asked for. Throws if the values are not JSON. */
const bodyOf = (texts: ScheduleTexts, known: Schedule | undefined): NewSchedule => ({
  type: "schedule",
  ...(texts.kind === "cron"
    ? { cron: texts.cron.trim() }
    : { everySeconds: Number(texts.everySeconds) }),
  timezone: texts.timezone,
  startAt: timeOf(texts.startAt),
  endAt: timeOf(texts.endAt),
  values: JSON.parse(texts.values) as NonNullable<NewSchedule["values"]>,
  version: versionOf(texts.version),
  catchUp: texts.catchUp as NonNullable<NewSchedule["catchUp"]>,
  overlap: texts.overlap as NonNullable<NewSchedule["overlap"]>,
  jitterSeconds: Number(texts.jitterSeconds),
  ...receiverOf<NewSchedule>(texts, known),
})

const Fields = ({
  known,
  ...given
}: Texts<keyof ScheduleTexts> & { readonly known: Schedule | undefined }) => {
  const { texts } = given
  return (
    <>
      <Choice {...given} name="kind" label="When">
        <option value="cron">By a cron text</option>
        <option value="every">At an interval</option>
      </Choice>
      {texts.kind === "cron" ? (
        <>
          <Line {...given} name="cron" label="Cron text" placeholder="0 9 * * 1-5" required />
          <Line {...given} name="timezone" label="Time zone" required />
        </>
      ) : (
        <Line
          {...given}
          name="everySeconds"
          label="Seconds from one time to the next"
          type="number"
          min={1}
          required
        />
      )}
      <Lines {...given} name="values" label="Values of its runs, as JSON" />
      <details>
        <summary>Begin, end, and what is late</summary>
        <Line {...given} name="startAt" label={`Not before (${timeZone})`} type="datetime-local" />
        <Line {...given} name="endAt" label={`Until (${timeZone})`} type="datetime-local" />
        <Choice {...given} name="catchUp" label="Times at which no server was there">
          <option value="none">Start nothing for them</option>
          <option value="last">Start a run for the last one</option>
          <option value="all">Start a run for each</option>
        </Choice>
        <Choice {...given} name="overlap" label="While its last run goes on">
          <option value="allow">Start the next one beside it</option>
          <option value="skip">Start none</option>
          <option value="queue">Wait for its end; one time waits at most</option>
          <option value="cancelOther">Cancel it, and start the next one</option>
        </Choice>
        <Line
          {...given}
          name="jitterSeconds"
          label="Start up to so many seconds later"
          type="number"
          min={0}
        />
      </details>
      <TriggerReceiver {...given} known={known} choices={ofSchedule} />
    </>
  )
}

/** The form, of a new schedule or of one that is there. */
export const ScheduleForm = ({
  known,
  onClose,
  workflowId,
}: {
  readonly workflowId: string
  readonly known?: Schedule
  readonly onClose: () => void
}) => {
  const [texts, setTexts] = useState(() => textsOf(known))
  const set = (name: keyof ScheduleTexts, text: string) => setTexts({ ...texts, [name]: text })
  const save = ({ type, ...change }: NewSchedule): Promise<unknown> =>
    known === undefined
      ? client.triggers.create(workflowId, { type, ...change })
      : client.triggers.update(workflowId, known.id, change)
  return (
    <TriggerForm
      title={known === undefined ? "New schedule" : "Schedule"}
      workflowId={workflowId}
      read={() => bodyOf(texts, known)}
      notJson={'The values are not JSON, such as { "n": 1 }.'}
      save={save}
      onClose={onClose}
    >
      <Fields texts={texts} set={set} known={known} />
      <TriggerVersion texts={texts} set={set} workflowId={workflowId} />
    </TriggerForm>
  )
}
