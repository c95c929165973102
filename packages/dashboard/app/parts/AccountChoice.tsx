/**
 * The account that an operator looks at.
 */
import { useQuery } from "@tanstack/react-query"
import { chosenAccount, client, useChosenAccount } from "../Console.ts"

/** A choice of accounts. */
export const AccountChoice = () => {
  const chosen = useChosenAccount()
  const { data: accounts = [] } = useQuery({
    queryKey: ["accounts"],
    queryFn: () => client.accounts.list(),
  })
  return (
    <label className="field">
      Account
      <select
        value={chosen ?? ""}
        onChange={({ target }) => chosenAccount.set(target.value || undefined)}
      >
        <option value="">Choose an account</option>
        {accounts.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
