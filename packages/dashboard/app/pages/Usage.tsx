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

const dayMillis = 86_400_000

/** A bar for each day, also those without a run. The table below says the same in words. */
const Bars = ({ report }: { readonly report: UsageReport }) => {
  const begin = Date.parse(report.from)
  const count = (Date.parse(report.to) - begin) / dayMillis + 1
  const most = Math.max(1, ...report.days.map(({ runs }) => runs))
  const step = chart.width / Math.max(1, count)
  return (
    <svg
      className="bars"
      viewBox={`0 0 ${chart.width} ${chart.height}`}
      role="img"
      aria-label={`Runs by day, at most ${most}`}
    >
      {report.days.map(({ day, runs }) => {
        const index = (Date.parse(day) - begin) / dayMillis
        const height = (runs / most) * (chart.height - 10)
        return (
          <rect
            key={day}
            x={index * step + 1}
            y={chart.height - height}
            width={Math.max(1, step - 2)}
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

interface SumsProps {
  readonly title: string
  /** Over the names. */
  readonly of: string
  readonly rows: ReadonlyArray<Row>
}

const Sums = ({ of, rows, title }: SumsProps) => (
  <section>
    <h2>{title}</h2>
    <div className="scroll" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{of}</th>
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
    <Bars report={report} />
    <Sums title="By day" of="Day" rows={report.days.map((row) => ({ ...row, name: row.day }))} />
    <Sums
      title="By workflow"
      of="Workflow"
      rows={report.workflows.map((row) => ({ ...row, name: row.workflowName }))}
    />
    {report.keys.length > 0 && (
      <Sums
        title="By key"
        of="Key"
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
