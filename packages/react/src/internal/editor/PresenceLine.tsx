/**
 * A line beside the name of a workflow: who else has it open, and for a while who has just saved.
 *
 * Guarantees: takes room from the name alone, and none where nobody else is there.
 */
import { Users } from "lucide-react"
import { useEffect, useState } from "react"
import type { EditingReading } from "../../Editing.ts"
import { otherPeople, personText } from "../PresentPeople.ts"
import { usePresence } from "../../Presence.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Editor.module.css"

/** How long it is said who has saved. */
const savedMillis = 10_000

interface PresenceLineProps {
  readonly editing: EditingReading["editing"]
  readonly workflowId: string
}

/** Shows the line, and lets the editor read what others have saved. */
export const PresenceLine = ({ editing, workflowId }: PresenceLineProps) => {
  const { messages } = useSurroundings()
  const { presence, stored } = usePresence(workflowId)
  const [saved, setSaved] = useState<typeof stored>()
  useEffect(() => {
    if (stored === undefined) return
    editing.learn(stored.etag)
    if (stored.savedBy === null || stored.savedBy.isSelf) return
    setSaved(stored)
    const timer = setTimeout(() => setSaved(undefined), savedMillis)
    return () => clearTimeout(timer)
  }, [editing, stored])
  const people = otherPeople(presence, messages).join(", ")
  const by = saved?.savedBy ?? undefined
  const text =
    by === undefined
      ? people === ""
        ? ""
        : messages.alsoHere(people)
      : messages.savedByOther(personText(by, messages))
  return (
    <span className={`${theme.muted} ${styles.present}`} title={text}>
      {text === "" ? null : <Users aria-hidden size={16} />}
      <span role="status">{text}</span>
    </span>
  )
}
