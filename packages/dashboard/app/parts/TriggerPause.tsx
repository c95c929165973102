/**
 * The switch for all triggers of the account.
 *
 * Leaves out: who may use it; the server refuses everybody else in a sentence.
 */
import { useMutation, useQuery } from "@tanstack/react-query"
import { client, queries, sentenceOf } from "../Console.ts"
import { timeText } from "../Words.ts"
import { Notice } from "./Notice.tsx"

const queryKey = ["triggers-paused"]

/** The button, and since when they are paused. */
export const TriggerPause = () => {
  const { data } = useQuery({ queryKey, queryFn: () => client.triggers.paused() })
  const { error, isPending, mutate } = useMutation({
    mutationFn: (wanted: boolean) => (wanted ? client.triggers.pause() : client.triggers.resume()),
    onSettled: () => queries.invalidateQueries({ queryKey }),
  })
  if (data === undefined) return null
  const isPaused = data.pausedAt !== null
  return (
    <>
      <button type="button" disabled={isPending} onClick={() => mutate(!isPaused)}>
        {isPaused ? "Resume all triggers" : "Pause all triggers"}
      </button>
      {isPaused && (
        <span role="status">
          All triggers of the account are paused since {timeText(data.pausedAt)}.
        </span>
      )}
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
    </>
  )
}
