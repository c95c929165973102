/**
 * The state of a run or a delivery, as an icon and a word, never by color alone.
 */
import { Ban, CircleCheck, CircleX, Clock3, LoaderCircle } from "lucide-react"

const looks = {
  QUEUED: { Icon: Clock3, tone: "waiting", word: "Queued" },
  RUNNING: { Icon: LoaderCircle, tone: "running", word: "Running" },
  COMPLETED: { Icon: CircleCheck, tone: "good", word: "Completed" },
  FAILED: { Icon: CircleX, tone: "bad", word: "Failed" },
  CANCELED: { Icon: Ban, tone: "quiet", word: "Canceled" },
  PENDING: { Icon: Clock3, tone: "waiting", word: "Pending" },
  DELIVERED: { Icon: CircleCheck, tone: "good", word: "Delivered" },
} as const

/** A state. */
export const Status = ({ of }: { readonly of: string }) => {
  const { Icon, tone, word } = looks[of as keyof typeof looks] ?? {
    Icon: Clock3,
    tone: "quiet",
    word: of,
  }
  return (
    <span className={`status ${tone}`}>
      <Icon aria-hidden size={16} />
      {word}
    </span>
  )
}
