/**
 * Health, for operators: whether the server can work, runs in quarantine, and whether all ledgers
 * add up.
 */
import type { ConsoleQuarantinedRun as QuarantinedRun } from "@millrace/api/ConsoleClient"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries, sentenceOf, serverUrl } from "../Console.ts"
import { Confirm } from "../parts/Confirm.tsx"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"
import { Status } from "../parts/Status.tsx"
import { countText, timeText, timeZone } from "../Words.ts"

/** How often the server is asked whether it can work. */
const lookMillis = 10_000

interface Ready {
  readonly error?: string
  readonly warnings?: ReadonlyArray<string>
}

const readReady = async (): Promise<ReadonlyArray<string>> => {
  const { error, warnings = [] } = (await (await fetch(`${serverUrl}/readyz`)).json()) as Ready
  return error === undefined ? warnings : [error]
}

const Server = () => {
  const query = useQuery({
    queryKey: ["health", "server"],
    queryFn: readReady,
    refetchInterval: lookMillis,
  })
  return (
    <section>
      <h2>Server</h2>
      <Listed query={query} count={1} empty="">
        {query.data?.length === 0 ? (
          <p>It answers, and so does its database.</p>
        ) : (
          query.data?.map((line) => (
            <Notice key={line} kind="error">
              {line}
            </Notice>
          ))
        )}
      </Listed>
    </section>
  )
}

/** What a run has lost, in words. */
const lossOf = ({ losses }: QuarantinedRun): string =>
  losses
    .map(({ cause, lostAt, nodes }) => {
      const what = cause === "died" ? "Its process died" : "It blocked its process"
      return `${what} at ${timeText(lostAt)}, in ${nodes.join(", ")}.`
    })
    .join(" ")

interface Asked {
  readonly run: QuarantinedRun
  readonly action: "release" | "end"
}

const Rows = ({
  items,
  onAsk,
}: {
  readonly items: ReadonlyArray<QuarantinedRun>
  readonly onAsk: (asked: Asked) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Runs in quarantine">
    <table>
      <thead>
        <tr>
          <th scope="col">Workflow</th>
          <th scope="col">State</th>
          <th scope="col">Created ({timeZone})</th>
          <th scope="col">What happened</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((run) => (
          <tr key={run.runId}>
            <td dir="auto">
              {run.workflowName}
              <div className="quiet">
                <code>{run.accountId}</code>
              </div>
            </td>
            <td>
              <Status of={run.status} />
            </td>
            <td>{timeText(run.createdAt)}</td>
            <td>{lossOf(run)}</td>
            <td className="actions">
              <button
                type="button"
                aria-label={`Release the run of ${run.workflowName}`}
                onClick={() => onAsk({ run, action: "release" })}
              >
                Release
              </button>
              <button
                type="button"
                aria-label={`End the run of ${run.workflowName}`}
                onClick={() => onAsk({ run, action: "end" })}
              >
                End
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Quarantine = () => {
  const [asked, setAsked] = useState<Asked>()
  const query = useQuery({
    queryKey: ["health", "quarantine"],
    queryFn: () => client.quarantine.list(),
  })
  const items = query.data ?? []
  const act = async ({ action, run }: Asked) => {
    await client.quarantine[action](run.runId)
    await queries.invalidateQueries({ queryKey: ["health", "quarantine"] })
  }
  return (
    <section>
      <h2>Quarantine</h2>
      <Listed query={query} count={items.length} empty="No run is in quarantine.">
        <Rows items={items} onAsk={setAsked} />
      </Listed>
      {asked !== undefined && (
        <Confirm
          title={asked.action === "end" ? "End the run?" : "Release the run?"}
          action={asked.action === "end" ? "End it" : "Release it"}
          act={() => act(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            {asked.action === "end"
              ? "It fails at once, and says why."
              : "It is executed like any other run again, also if it harms its process again."}
          </p>
        </Confirm>
      )}
    </section>
  )
}

const Ledgers = () => {
  const { data, error, isPending, mutate } = useMutation({ mutationFn: () => client.audit() })
  return (
    <section>
      <h2>Ledgers</h2>
      <p>
        <button type="button" disabled={isPending} onClick={() => mutate()}>
          Check that all credits add up
        </button>
      </p>
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {data?.discrepancies.length === 0 && (
        <Notice>All credits of {countText(data.accounts, "account")} add up.</Notice>
      )}
      {data?.discrepancies.map(({ accountId, message }) => (
        <Notice key={accountId + message} kind="error">
          {accountId}: {message}
        </Notice>
      ))}
    </section>
  )
}

/** What an operator looks at first. */
export const Health = () => (
  <Page title="Health">
    <Server />
    <Quarantine />
    <Ledgers />
  </Page>
)
