/**
 * All accounts, for operators.
 */
import { useQuery } from "@tanstack/react-query"
import { useLocation } from "wouter"
import { chosenAccount, client, useChosenAccount } from "../Console.ts"
import { Listed } from "../parts/Listed.tsx"
import { Page } from "../parts/Page.tsx"
import { timeText } from "../Words.ts"

/** The accounts. */
export const Accounts = () => {
  const [, navigate] = useLocation()
  const chosen = useChosenAccount()
  const query = useQuery({ queryKey: ["accounts"], queryFn: () => client.accounts.list() })
  const accounts = query.data ?? []
  const open = (id: string) => {
    chosenAccount.set(id)
    navigate("/")
  }
  return (
    <Page title="Accounts">
      <Listed
        query={query}
        count={accounts.length}
        empty="No accounts yet. Make one with “millrace accounts create”."
      >
        <div className="scroll" tabIndex={0} role="region" aria-label="Accounts">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Id</th>
                <th scope="col">Created</th>
                <th scope="col">
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {accounts.map(({ createdAt, id, name }) => (
                <tr key={id}>
                  <td dir="auto">{name}</td>
                  <td>
                    <code>{id}</code>
                  </td>
                  <td>{timeText(createdAt)}</td>
                  <td>
                    <button
                      type="button"
                      disabled={id === chosen}
                      aria-label={id === chosen ? undefined : `Look at ${name}`}
                      onClick={() => open(id)}
                    >
                      {id === chosen ? "Chosen" : "Look at"}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Listed>
    </Page>
  )
}
