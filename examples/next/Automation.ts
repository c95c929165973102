/**
 * The engine of this application: one for the process. Next loads a module once for each part of
 * the application, so the engine is in `globalThis`, where a reload of the code finds it, too.
 *
 * Nothing opens it while the application is built.
 */
import { createEngine, type Engine, sqlite } from "millrace"

/** Who is signed in, by session. Yours are in a database. */
const sessions = new Map([["session-of-ada", "acme"]])

const kept = globalThis as { automation?: Promise<Engine> }

/** The engine, which the first call opens. */
export const automation = (): Promise<Engine> =>
  (kept.automation ??= createEngine({
    account: "acme",
    store: sqlite(process.env["FLOWS_FILE"] ?? "./flows.db"),
    basePath: "/automation",
    authorize: (request) => {
      const account = sessions.get(request.headers.get("x-session") ?? "")
      return account === undefined ? null : { account }
    },
  }))
