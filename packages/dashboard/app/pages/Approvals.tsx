/**
 * What waits for a decision: what is asked, whom, and until when. The node of the run has the form.
 *
 * Leaves out: deciding here; who was asked by mail decides with their link.
 */
import type { ApprovalItem } from "@millrace/api/PromiseClient"
import { useInfiniteQuery } from "@tanstack/react-query"
import { Link } from "wouter"
import { client } from "../Console.ts"
import { Listed } from "../parts/Listed.tsx"
import { Page } from "../parts/Page.tsx"
import { timeText, timeZone } from "../Words.ts"

const askedOf = ({ approvers, roles }: ApprovalItem): string =>
  [...approvers.map(({ address }) => address), ...roles.map((role) => `role ${role}`)].join(", ")

const Rows = ({ items }: { readonly items: ReadonlyArray<ApprovalItem> }) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Approvals">
    <table>
      <thead>
        <tr>
          <th scope="col">Question</th>
          <th scope="col">Workflow</th>
          <th scope="col">Asked</th>
          <th scope="col">Since ({timeZone})</th>
          <th scope="col">Expires</th>
        </tr>
      </thead>
      <tbody>
        {items.map((approval) => (
          <tr key={`${approval.runId} ${approval.nodeId}`}>
            <td dir="auto">
              <Link href={`/runs/${approval.runId}?node=${encodeURIComponent(approval.nodeId)}`}>
                {approval.title}
              </Link>
            </td>
            <td dir="auto">{approval.workflowName}</td>
            <td>{askedOf(approval)}</td>
            <td>
              <time dateTime={approval.askedAt}>{timeText(approval.askedAt)}</time>
            </td>
            <td>{approval.expiresAt === null ? "Never" : timeText(approval.expiresAt)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** The approvals of the account that wait. */
export const Approvals = () => {
  const query = useInfiniteQuery({
    queryKey: ["approvals"],
    initialPageParam: undefined as string | undefined,
    // What was decided just now, in the view of its run, is gone.
    staleTime: 0,
    refetchInterval: 30_000,
    queryFn: ({ pageParam: cursor }) =>
      client.approvals.list({ limit: 50, ...(cursor === undefined ? {} : { cursor }) }),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <Page title="Approvals">
      <Listed
        query={query}
        count={items.length}
        empty="Nothing waits for a decision. A node “approval” of a run that goes on asks for one."
      >
        <Rows items={items} />
      </Listed>
    </Page>
  )
}
