/**
 * Which versions of node types are in use, for operators: what they look at before they take one
 * away.
 */
import type { ConsoleTypeInUse } from "@millrace/api/ConsoleClient"
import { useMutation } from "@tanstack/react-query"
import { client, sentenceOf } from "../Console.ts"
import { countText } from "../Words.ts"
import { Notice } from "./Notice.tsx"

/** Who uses a version, in words. */
const usersOf = ({ drafts, openRuns, published }: ConsoleTypeInUse): string => {
  const parts = [
    ...(drafts > 0 ? [countText(drafts, "draft")] : []),
    ...(published > 0 ? [countText(published, "published version")] : []),
    ...(openRuns > 0 ? [countText(openRuns, "open run")] : []),
  ]
  return parts.length === 0 ? "Nothing" : parts.join(", ")
}

const Row = ({ type }: { readonly type: ConsoleTypeInUse }) => (
  <tr>
    <td>
      <code>{type.type}</code>
      {!type.isKnown && <div className="quiet">This server does not have it.</div>}
      {type.deprecated !== null && <div className="quiet">{type.deprecated}</div>}
    </td>
    <td>{type.version ?? "–"}</td>
    <td>{usersOf(type)}</td>
    <td dir="auto">{type.workflows.map(({ workflowName }) => workflowName).join(", ")}</td>
  </tr>
)

/** Asks when it is told to, because the store reads every drawing for the answer. */
export const TypesInUse = () => {
  const { data, error, isPending, mutate } = useMutation({ mutationFn: () => client.typesInUse() })
  return (
    <section>
      <h2>Versions in use</h2>
      <p>
        <button type="button" disabled={isPending} onClick={() => mutate()}>
          Look in all accounts
        </button>
      </p>
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {data !== undefined && (
        <div className="scroll" tabIndex={0} role="region" aria-label="Versions in use">
          <table>
            <thead>
              <tr>
                <th scope="col">Node type</th>
                <th scope="col">Version</th>
                <th scope="col">Used by</th>
                <th scope="col">First workflows</th>
              </tr>
            </thead>
            <tbody>
              {data.map((type) => (
                <Row key={`${type.type} ${type.version}`} type={type} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
