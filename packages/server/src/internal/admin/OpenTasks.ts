/**
 * The work of `millrace open`.
 */
import { CreatedSession } from "@millrace/api/SessionWire"
import { signInAddress } from "@millrace/http/ConsoleSettings"
import { Effect } from "effect"
import type { Session } from "./AdminSession.ts"
import { accountNamed, print } from "./AdminSession.ts"

/** Makes a ticket and prints the address that signs in with it. */
export const open = Effect.fnUntraced(function* (session: Session, account: string | undefined) {
  const admin = yield* session.open
  const found = account === undefined ? undefined : yield* accountNamed(admin, account)
  const payload = found === undefined ? {} : { accountId: found.id }
  const made = yield* admin.sessions.link({ payload })
  // What the server was told of its own address goes before that by which it was called here.
  const origin = session.url?.replace(/\/+$/, "")
  const address = made.address ?? (origin ?? "") + signInAddress(made.ticket ?? "")
  const where = address.startsWith("/") ? ", below the address of your server" : ""
  const said = `Open this${where}. It signs in once, within 10 minutes:`
  yield* print(session, CreatedSession, made, { said, lines: [address] })
})
