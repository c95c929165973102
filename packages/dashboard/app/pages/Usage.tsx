/**
 * Credits: what there is, and what runs have used by day, workflow and key. A session of some
 * workflows is not told what there is.
 */
import type { UsageReport } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { client } from "../Console.ts"
import { Listed } from "../parts/Listed.tsx"
import { Page } from "../parts/Page.tsx"
import { numberText } from "../Words.ts"

const chart = { width: 640, height: 160 }

/** Bars by day. The table below says the same in words. */
const Bars = ({ days }: { readonly days: UsageReport["days"] }) => {
  const most = Math.max(1, ...days.map(({ runs }) => runs))
  const step = chart.width / Math.max(1, days.length)
  return (
    <svg
      className="bars"
      viewBox={`0 0 ${chart.width} ${chart.height}`}
      role="img"
      aria-label={`Runs by day, at most ${most}`}
    >
      {days.map(({ day, runs }, index) => {
        const height = (runs / most) * (chart.height - 10)
        return (
          <rect
            key={day}
            x={index * step + 1}
            y={chart.height - height}
            width={Math.min(40, Math.max(1, step - 2))}
            height={height}
          >
            <title>{`${day}: ${runs}`}</title>
          </rect>
        )
      })}
    </svg>
  )
}

interface Row {
  readonly name: string
  readonly runs: number
  readonly estimatedCredits: number
  readonly actualCredits: number
}

const Sums = ({ rows, title }: { readonly title: string; readonly rows: ReadonlyArray<Row> }) => (
  <section>
    <h2>{title}</h2>
    <div className="scroll" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{title.replace(/^By /, "")}</th>
            <th scope="col" className="number">
              Runs
            </th>
            <th scope="col" className="number">
              Estimated credits
            </th>
            <th scope="col" className="number">
              Used credits
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td dir="auto">{row.name}</td>
              <td className="number">{numberText(row.runs)}</td>
              <td className="number">{numberText(row.estimatedCredits)}</td>
              <td className="number">{numberText(row.actualCredits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

const Balance = ({ balance }: Required<Pick<UsageReport, "balance">>) => (
  <>
    <div>
      <dt>Available credits</dt>
      <dd>{balance.metered ? numberText(balance.available) : "Not limited"}</dd>
    </div>
    <div>
      <dt>Reserved by open runs</dt>
      <dd>{numberText(balance.reserved)}</dd>
    </div>
  </>
)

const Report = ({ report }: { readonly report: UsageReport }) => (
  <>
    <dl className="facts">
      {report.balance !== undefined && <Balance balance={report.balance} />}
      <div>
        <dt>Days (UTC)</dt>
        <dd>
          {report.from} to {report.to}
        </dd>
      </div>
    </dl>
    <Bars days={report.days} />
    <Sums title="By day" rows={report.days.map((row) => ({ ...row, name: row.day }))} />
    <Sums
      title="By workflow"
      rows={report.workflows.map((row) => ({ ...row, name: row.workflowName }))}
    />
    {report.keys.length > 0 && (
      <Sums
        title="By key"
        rows={report.keys.map((row) => ({ ...row, name: row.keyId ?? "Without a key" }))}
      />
    )}
  </>
)

/** Credits of the account. */
export const Usage = () => {
  const query = useQuery({ queryKey: ["usage"], queryFn: () => client.usage.read() })
  return (
    <Page title="Usage">
      <Listed query={query} count={1} empty="">
        {query.data !== undefined && <Report report={query.data} />}
      </Listed>
    </Page>
  )
}
