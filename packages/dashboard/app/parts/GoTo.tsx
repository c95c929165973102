/**
 * Goes to a page, a workflow or a run by some of its letters.
 */
import type { SessionItem as Session } from "@millrace/api/ConsoleClient"
import { useQuery } from "@tanstack/react-query"
import { useDeferredValue, useId, useState } from "react"
import { useLocation } from "wouter"
import { client, useChosenAccount } from "../Console.ts"
import { entriesOf } from "../Entries.ts"
import { Dialog } from "./Dialog.tsx"

interface Choice {
  readonly to: string
  readonly words: string
  readonly kind: string
}

const pagesOf = (session: Session): ReadonlyArray<Choice> =>
  entriesOf(session).map(({ to, words }) => ({ to, words, kind: "Page" }))

/** Workflows with the text in their names, and the runs that begin with it. */
const useFound = (text: string, isPossible: boolean): ReadonlyArray<Choice> => {
  const { data = [] } = useQuery({
    queryKey: ["goTo", text],
    enabled: isPossible && text !== "",
    placeholderData: (known) => known,
    queryFn: async (): Promise<ReadonlyArray<Choice>> => {
      const [workflows, runs] = await Promise.all([
        client.workflows.list({ search: text, limit: 8 }),
        text.startsWith("run_") ? client.runs.list({ search: text, limit: 3 }) : { items: [] },
      ])
      return [
        ...workflows.items.map(({ id, name }) => ({
          to: `/workflows/${id}`,
          words: name,
          kind: "Workflow",
        })),
        ...runs.items.map(({ id }) => ({ to: `/runs/${id}`, words: id, kind: "Run" })),
      ]
    },
  })
  return text === "" ? [] : data
}

/** Where to move with a key, among so many. */
const moved = (key: string, at: number, count: number): number | undefined => {
  if (count === 0) return undefined
  if (key === "ArrowDown") return (at + 1) % count
  if (key === "ArrowUp") return (at + count - 1) % count
  return undefined
}

/** The dialog. */
export const GoTo = ({
  onClose,
  session,
}: {
  readonly session: Session
  readonly onClose: () => void
}) => {
  const [, navigate] = useLocation()
  const account = useChosenAccount()
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const id = useId()
  const wanted = text.trim()
  const isPossible = session.role !== "operator" || account !== undefined
  const found = useFound(useDeferredValue(wanted), isPossible)
  // What was found may be for what was typed before, and Enter may come before the rest is found.
  const choices = [...pagesOf(session), ...found].filter(({ words }) =>
    words.toLowerCase().includes(wanted.toLowerCase()),
  )
  const chosen = choices[Math.min(at, choices.length - 1)]
  const go = (choice: Choice | undefined) => {
    if (choice === undefined) return
    onClose()
    navigate(choice.to)
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        autoFocus
        role="combobox"
        aria-label="Page, workflow or run"
        aria-expanded
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={chosen === undefined ? undefined : `${id}-${chosen.to}`}
        placeholder="Page, workflow or run"
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          const next = moved(event.key, Math.min(at, choices.length - 1), choices.length)
          if (next === undefined && event.key !== "Enter") return
          event.preventDefault()
          if (next === undefined) go(chosen)
          else setAt(next)
        }}
      />
      <div id={id} role="listbox" aria-label="Found" className="choices">
        {choices.map((choice) => (
          <div
            key={choice.to}
            id={`${id}-${choice.to}`}
            role="option"
            aria-selected={choice === chosen}
            onClick={() => go(choice)}
          >
            <span dir="auto">{choice.words}</span>
            <span className="quiet">{choice.kind}</span>
          </div>
        ))}
      </div>
      {choices.length === 0 && <p className="quiet">Nothing has this in its name.</p>}
    </Dialog>
  )
}
