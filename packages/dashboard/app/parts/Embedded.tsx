/**
 * What components of `@millrace/react` need of the dashboard.
 */
import type { SessionItem as Session } from "@millrace/api/ConsoleClient"
import { Millrace } from "@millrace/react"
import type { ReactNode } from "react"
import { client, serverUrl, useChosenAccount, useSession } from "../Console.ts"
import { draftUserOf } from "../DraftUser.ts"
import { chosenTheme } from "../Theme.ts"

/** Of this page's Content-Security-Policy; scripts can read it, and no style sheet can. */
const nonce = document.querySelector<HTMLElement>("[nonce]")?.nonce

const Signed = ({
  children,
  session,
}: {
  readonly session: Session
  readonly children: ReactNode
}) => {
  const chosen = useChosenAccount()
  return (
    <Millrace
      client={client}
      theme={chosenTheme()}
      url={serverUrl}
      user={draftUserOf(session)}
      account={session.account?.id ?? chosen ?? ""}
      {...(nonce === undefined ? {} : { nonce })}
    >
      {children}
    </Millrace>
  )
}

/** Holds components; empty where nobody is signed in. */
export const Embedded = ({ children }: { readonly children: ReactNode }) => {
  const { data: session } = useSession()
  if (session === null) return null
  return <Signed session={session}>{children}</Signed>
}
