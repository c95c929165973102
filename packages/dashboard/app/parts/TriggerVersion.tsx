/**
 * The choice of what the runs of a trigger take: the published version, the draft, or a number.
 */
import type { TriggerItem } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { client } from "../Console.ts"
import type { Texts } from "./TextFields.tsx"
import { Choice } from "./TextFields.tsx"

type Version = TriggerItem["version"]

/** The choice as a text: empty for the published version. */
export const versionTextOf = (known: Pick<TriggerItem, "version"> | undefined): string =>
  String(known?.version ?? "")

/** The choice of a text of {@link versionTextOf}. */
export const versionOf = (text: string): Version =>
  text === "" ? null : text === "draft" ? text : Number(text)

/** How many of the newest versions there are to choose from. */
const shown = 20

const useVersions = (workflowId: string) =>
  useQuery({
    queryKey: ["versions", workflowId, "newest"],
    queryFn: async () => {
      const numbers: Array<number> = []
      for await (const { number } of client.workflows.versions(workflowId, { limit: shown })) {
        numbers.push(number)
        if (numbers.length === shown) break
      }
      return numbers
    },
  })

/** The field, whose name is `version`. */
export const TriggerVersion = ({
  workflowId,
  ...all
}: Texts<"version"> & { readonly workflowId: string }) => {
  const { version } = all.texts
  const numbers = (useVersions(workflowId).data ?? []).map(String)
  const isOther = version !== "" && version !== "draft" && !numbers.includes(version)
  return (
    <Choice {...all} name="version" label="What its runs take">
      <option value="">The published version, or the draft where none is published</option>
      <option value="draft">The draft</option>
      {[...numbers, ...(isOther ? [version] : [])].map((number) => (
        <option key={number} value={number}>
          Version {number}
        </option>
      ))}
    </Choice>
  )
}
