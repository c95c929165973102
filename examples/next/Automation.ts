/**
 * The engine of this application: one for the process. Next loads a module once for each part of
 * the application, so the engine is in `globalThis`, where a reload of the code finds it, too.
 *
 * Nothing opens it while the application is built.
 */
import { createEngine, type Engine, sqlite } from "millrace"

/** Accounts of who is signed in, by the value of the cookie. Yours are in a database. */
export const signedIn = new Map([["session-of-ada", "acme"]])

const kept = globalThis as { automation?: Promise<Engine> }

const accountOf = (request: Request): string | undefined =>
  signedIn.get(/(?:^|; )session=([^;]+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "")

/** The engine, which the first call opens. */
export const automation = (): Promise<Engine> =>
  (kept.automation ??= createEngine({
    account: "acme",
    store: sqlite(process.env["FLOWS_FILE"] ?? "./flows.db"),
    basePath: "/automation",
    authorize: (request) => {
      const account = accountOf(request)
      return account === undefined ? null : { account }
    },
  }))

/** A short session of the engine for whoever is signed in; `undefined`: nobody is. */
export const tokenFor = async (request: Request): Promise<string | undefined> => {
  const account = accountOf(request)
  if (account === undefined) return undefined
  const { sessions } = await automation()
  return (await sessions.create({ account, role: "editor", expiresIn: "15 minutes" })).token
}
