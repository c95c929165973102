/**
 * The work of `millrace nodes usage`.
 */
import type { TypeInUse } from "@millrace/api/AdminNodeTypeWire"
import { TypesInUse } from "@millrace/api/AdminNodeTypeWire"
import { Effect } from "effect"
import type { Session } from "./AdminSession.ts"
import { print, refuse, table } from "./AdminSession.ts"

const noteOf = ({ deprecated, isKnown }: TypeInUse): string => {
  if (!isKnown) return "not on this server"
  return deprecated === null ? "" : `deprecated: ${deprecated}`
}

const columns = {
  type: ({ type }: TypeInUse) => type,
  version: ({ version }: TypeInUse) => String(version ?? "none"),
  drafts: ({ drafts }: TypeInUse) => String(drafts),
  published: ({ published }: TypeInUse) => String(published),
  "open runs": ({ openRuns }: TypeInUse) => String(openRuns),
  workflows: ({ workflows }: TypeInUse) => workflows.map(({ workflowId }) => workflowId).join(" "),
  note: noteOf,
}

/** Prints a table, or the versions as JSON. */
export const usage = Effect.fnUntraced(function* (session: Session) {
  if (session.url === undefined) {
    return yield* refuse(
      "nodes usage asks a server, because it has the node types: give --url and --admin-token " +
        "(or MILLRACE_URL and MILLRACE_ADMIN_TOKEN)",
    )
  }
  const { items } = yield* (yield* session.open).types.list()
  yield* print(session, TypesInUse, { items }, table(columns, items, "There are no node types"))
})
