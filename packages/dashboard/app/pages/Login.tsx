/**
 * Signing in: by the ticket of a link, which stands behind `#` and so reaches no log, or by the
 * operator token.
 */
import { useMutation } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { useLocation } from "wouter"
import { chosenAccount, client, queries, sentenceOf, useSignedIn } from "../Console.ts"
import { Notice } from "../parts/Notice.tsx"

/** The ticket of the address, taken out of it once, so that it is in no history. */
const takeTicket = (): string | undefined => {
  const ticket = /^#t=(.+)$/.exec(location.hash)?.[1]
  if (ticket !== undefined) history.replaceState(null, "", location.pathname)
  return ticket
}

const OperatorForm = ({
  isBusy,
  onToken,
}: {
  readonly isBusy: boolean
  readonly onToken: (token: string) => void
}) => {
  const [token, setToken] = useState("")
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onToken(token.trim())
      }}
    >
      <label className="field">
        Operator token
        <input
          type="password"
          autoComplete="off"
          required
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
      </label>
      <button type="submit" className="primary" disabled={isBusy}>
        Sign in
      </button>
    </form>
  )
}

/** The page for whoever has not signed in to the application that the dashboard is a part of. */
const Elsewhere = () => (
  <main className="login">
    <h1>Millrace</h1>
    <p>Sign in to the application that this dashboard belongs to, and then load this page again.</p>
  </main>
)

/** The page for whoever is not signed in. */
export const Login = () => {
  const { data } = useSignedIn()
  const [, navigate] = useLocation()
  const { error, isPending, mutate } = useMutation({
    mutationFn: (by: { ticket: string } | { operatorToken: string }) => client.session.signIn(by),
    onSuccess: async (session) => {
      // What was asked before this may answer after it.
      await queries.cancelQueries({ queryKey: ["session"] })
      chosenAccount.set(undefined)
      queries.setQueryData(["session"], { session, by: "link" })
      navigate(session.role === "operator" ? "/accounts" : "/", { replace: true })
    },
  })
  useEffect(() => {
    document.title = "Sign in – Millrace"
    const ticket = takeTicket()
    if (ticket !== undefined) mutate({ ticket })
  }, [mutate])
  if (data?.by === "application") return <Elsewhere />
  return (
    <main className="login">
      <h1>Millrace</h1>
      {isPending && <p className="quiet">Signing in</p>}
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      <p>
        Open a sign-in link to see your workflows. <code>millrace dev</code> prints one when it
        starts; <code>millrace open</code> prints a new one. A link works once, within ten minutes.
      </p>
      <details>
        <summary>Sign in as an operator</summary>
        <OperatorForm isBusy={isPending} onToken={(operatorToken) => mutate({ operatorToken })} />
      </details>
    </main>
  )
}
