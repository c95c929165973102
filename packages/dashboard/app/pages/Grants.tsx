/**
 * Credits of an account, for operators: its balance, what was granted, and its ledger.
 */
import type { ConsoleGrant, ConsoleStatement } from "@millrace/api/ConsoleClient"
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries, sentenceOf, useChosenAccount } from "../Console.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"
import { numberText, timeText, timeZone } from "../Words.ts"

const refresh = () => queries.invalidateQueries({ queryKey: ["credits"] })

const GrantCredits = ({
  account,
  onClose,
}: {
  readonly account: string
  readonly onClose: () => void
}) => {
  const [fields, setFields] = useState({ amount: "", actor: "", reason: "", expiresAt: "" })
  const { error, isPending, mutate } = useMutation({
    mutationFn: () =>
      client.credits.grant(account, {
        amount: Number(fields.amount),
        actor: fields.actor,
        reason: fields.reason,
        ...(fields.expiresAt === "" ? {} : { expiresAt: new Date(fields.expiresAt).toISOString() }),
      }),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  const field = (name: keyof typeof fields, words: string, more: object = { required: true }) => (
    <label className="field">
      {words}
      <input
        value={fields[name]}
        onChange={({ target }) => setFields({ ...fields, [name]: target.value })}
        {...more}
      />
    </label>
  )
  return (
    <Dialog title="Grant credits" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        {field("amount", "Credits", { required: true, inputMode: "decimal" })}
        {field("actor", "Who grants them; the ledger keeps it")}
        {field("reason", "Why; the ledger keeps it")}
        {field("expiresAt", `Unused ones expire (${timeZone}); empty: never`, {
          type: "datetime-local",
        })}
        {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isPending}>
            Grant
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

const GrantTable = ({ grants }: { readonly grants: ReadonlyArray<ConsoleGrant> }) => (
  <section>
    <h2>Grants with credits left</h2>
    {grants.length === 0 ? (
      <p className="quiet">None.</p>
    ) : (
      <div className="scroll" tabIndex={0} role="region" aria-label="Grants with credits left">
        <table>
          <thead>
            <tr>
              <th scope="col" className="number">
                Left
              </th>
              <th scope="col" className="number">
                Granted
              </th>
              <th scope="col">Reason</th>
              <th scope="col">By</th>
              <th scope="col">Expires ({timeZone})</th>
            </tr>
          </thead>
          <tbody>
            {grants.map((grant) => (
              <tr key={grant.id}>
                <td className="number">{numberText(grant.remaining)}</td>
                <td className="number">{numberText(grant.amount)}</td>
                <td dir="auto">{grant.reason}</td>
                <td dir="auto">{grant.actor}</td>
                <td>{timeText(grant.expiresAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </section>
)

const Lines = ({ items }: { readonly items: ConsoleStatement["items"] }) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Ledger">
    <table>
      <thead>
        <tr>
          <th scope="col">At ({timeZone})</th>
          <th scope="col">Entry</th>
          <th scope="col" className="number">
            Credits
          </th>
          <th scope="col" className="number">
            Reserved
          </th>
          <th scope="col">By</th>
          <th scope="col">Reason</th>
        </tr>
      </thead>
      <tbody>
        {items.map((entry) => (
          <tr key={entry.number}>
            <td>{timeText(entry.at)}</td>
            <td>{entry.kind}</td>
            <td className="number">{numberText(entry.posted)}</td>
            <td className="number">{numberText(entry.reserved)}</td>
            <td dir="auto">{entry.actor ?? entry.runId}</td>
            <td dir="auto">{entry.reason}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Ledger = ({ account }: { readonly account: string }) => {
  const query = useInfiniteQuery({
    queryKey: ["credits", account, "ledger"],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam: before }) =>
      client.credits.statement(account, before === undefined ? {} : { before }),
    getNextPageParam: ({ nextBefore }) => nextBefore ?? undefined,
  })
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <section>
      <h2>Ledger</h2>
      <Listed query={query} count={items.length} empty="Nothing was granted or used yet.">
        <Lines items={items} />
      </Listed>
    </section>
  )
}

/** The credits of the chosen account. */
export const Grants = () => {
  const account = useChosenAccount() ?? ""
  const [isGranting, setIsGranting] = useState(false)
  const query = useQuery({
    queryKey: ["credits", account],
    queryFn: () => client.credits.show(account),
  })
  const { balance, grants } = query.data ?? {}
  const grant = (
    <button type="button" className="primary" onClick={() => setIsGranting(true)}>
      Grant credits
    </button>
  )
  return (
    <Page title="Grants" actions={grant}>
      <Listed query={query} count={1} empty="">
        {balance !== undefined && (
          <dl className="facts">
            <div>
              <dt>Available credits</dt>
              <dd>{numberText(balance.available)}</dd>
            </div>
            <div>
              <dt>Reserved by open runs</dt>
              <dd>{numberText(balance.reserved)}</dd>
            </div>
            <div>
              <dt>Runs need cover</dt>
              <dd>{balance.metered ? "Yes" : "No"}</dd>
            </div>
          </dl>
        )}
        <GrantTable grants={grants ?? []} />
        <Ledger account={account} />
      </Listed>
      {isGranting && <GrantCredits account={account} onClose={() => setIsGranting(false)} />}
    </Page>
  )
}
