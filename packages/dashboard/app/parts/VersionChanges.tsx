/**
 * What distinguishes a version of a workflow from the draft, or from another version.
 */
import type { VersionDifference, VersionItem } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, sentenceOf } from "../Console.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"

/** Reads a difference, each time anew: the draft may have changed. */
export const useDifference = (id: string, number: number | undefined, other: "draft" | number) =>
  useQuery({
    queryKey: ["versions", id, "difference", number, other],
    queryFn: () => client.workflows.difference(id, number!, other),
    enabled: number !== undefined,
    staleTime: 0,
  })

type Items = VersionDifference["nodes"]

const linesOf = (noun: string, { added, changed, removed }: Items): ReadonlyArray<string> => [
  ...added.map((id) => `Added ${noun} ${id}`),
  ...removed.map((id) => `Removed ${noun} ${id}`),
  ...changed.map(
    ({ affectsRuns, id, keys }) =>
      `Changed ${noun} ${id}: ${keys.join(", ")}${affectsRuns ? "" : " (only how it looks)"}`,
  ),
]

/** The changes, one in a line. */
export const changesOf = ({ edges, fields, nodes }: VersionDifference): ReadonlyArray<string> => [
  ...fields.map((field) => `Changed ${field}`),
  ...linesOf("node", nodes),
  ...linesOf("edge", edges),
]

/** What a difference says, read from the version to the other one. */
export const Changes = ({ of: found }: { readonly of: VersionDifference }) => {
  const lines = changesOf(found)
  if (lines.length === 0) return <p>There is no difference.</p>
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}

/** The dialog. */
export const VersionChanges = ({
  id,
  items,
  number,
  onClose,
}: {
  readonly id: string
  readonly number: number
  readonly items: ReadonlyArray<VersionItem>
  readonly onClose: () => void
}) => {
  const [other, setOther] = useState<"draft" | number>("draft")
  const { data, error } = useDifference(id, number, other)
  return (
    <Dialog title={`From version ${number}`} onClose={onClose}>
      <label className="field">
        To
        <select
          value={other}
          onChange={({ target: { value } }) =>
            setOther(value === "draft" ? "draft" : Number(value))
          }
        >
          <option value="draft">the draft</option>
          {items
            .filter((item) => item.number !== number)
            .map((item) => (
              <option key={item.number} value={item.number}>
                version {item.number}
              </option>
            ))}
        </select>
      </label>
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {data === undefined ? (
        error === null && <p className="quiet">Loading</p>
      ) : (
        <Changes of={data} />
      )}
    </Dialog>
  )
}
