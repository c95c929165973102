/**
 * The workflows whose runs a trigger may follow, and the name of the one that it follows.
 */
import type { WorkflowItem } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { Link } from "wouter"
import { client } from "../Console.ts"

/** How many workflows are offered. */
const offered = 200

/** The newest workflows of the account. */
export const useWatchable = () =>
  useQuery({
    queryKey: ["watchable"],
    queryFn: async () => {
      const items: Array<WorkflowItem> = []
      for await (const item of client.workflows.list({ limit: 50 })) {
        if (items.push(item) === offered) break
      }
      return items
    },
  })

/** The name of a workflow, or else its id, as a link to it. */
export const WatchedWorkflow = ({ id }: { readonly id: string }) => {
  const found = useWatchable().data?.find((each) => each.id === id)
  return <Link href={`/workflows/${id}`}>{found?.name ?? id}</Link>
}
