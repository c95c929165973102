/**
 * Switches a trigger on and off.
 */
import type { TriggerItem } from "@millrace/api/PromiseClient"
import { useMutation } from "@tanstack/react-query"
import { client, queries, sentenceOf } from "../Console.ts"
import { Notice } from "./Notice.tsx"

/** The key of what is read of a workflow's triggers. */
export const triggersKey = (workflowId: string) => ["triggers", workflowId]

/** Reads the triggers of a workflow anew. */
export const refreshTriggers = (workflowId: string) =>
  queries.invalidateQueries({ queryKey: triggersKey(workflowId) })

/** The checkbox of a trigger; `what` says which one. */
export const TriggerSwitch = ({
  item: { enabled, id, workflowId },
  readOnly,
  what,
}: {
  readonly item: TriggerItem
  readonly what: string
  readonly readOnly: boolean
}) => {
  const { error, isPending, mutate } = useMutation({
    mutationFn: (wanted: boolean) => client.triggers.update(workflowId, id, { enabled: wanted }),
    onSettled: () => refreshTriggers(workflowId),
  })
  return (
    <>
      <input
        type="checkbox"
        aria-label={`Starts runs: ${what}`}
        checked={enabled}
        disabled={readOnly || isPending}
        onChange={({ target }) => mutate(target.checked)}
      />
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
    </>
  )
}
