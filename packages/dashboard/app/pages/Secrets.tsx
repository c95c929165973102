/**
 * Secrets that nodes send to other servers. Values are written and never read.
 */
import type { ListedConsoleSecret as ListedSecret } from "@millrace/api/ConsoleClient"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries, sentenceOf } from "../Console.ts"
import { Confirm } from "../parts/Confirm.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"

const refresh = () => queries.invalidateQueries({ queryKey: ["secrets"] })

const Put = ({ name: known, onClose }: { readonly name: string; readonly onClose: () => void }) => {
  const [name, setName] = useState(known)
  const [value, setValue] = useState("")
  const [hosts, setHosts] = useState("")
  const { error, isPending, mutate } = useMutation({
    mutationFn: () =>
      client.secrets.put(name, { value, hosts: hosts.split(/[\s,]+/).filter(Boolean) }),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <Dialog title={known === "" ? "Set a secret" : `Replace ${known}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        <label className="field">
          Name
          <input
            required
            readOnly={known !== ""}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </label>
        <label className="field">
          Value
          <input
            required
            type="password"
            autoComplete="off"
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
        </label>
        <label className="field">
          Hosts to which it may be sent, such as api.example.com
          <input required value={hosts} onChange={({ target }) => setHosts(target.value)} />
        </label>
        {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isPending}>
            Save
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

const Rows = ({
  items,
  onRemove,
  onReplace,
}: {
  readonly items: ReadonlyArray<ListedSecret>
  readonly onReplace: (name: string) => void
  readonly onRemove: (secret: ListedSecret) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Secrets">
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Hosts</th>
          <th scope="col">Used by</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((secret) => (
          <tr key={secret.name}>
            <td>
              <code>{secret.name}</code>
            </td>
            <td>{secret.hosts.join(", ")}</td>
            <td dir="auto">{secret.usedBy.map((user) => user.workflowName).join(", ")}</td>
            <td className="actions">
              <button
                type="button"
                aria-label={`Replace ${secret.name}`}
                onClick={() => onReplace(secret.name)}
              >
                Replace
              </button>
              <button
                type="button"
                aria-label={`Remove ${secret.name}`}
                onClick={() => onRemove(secret)}
              >
                Remove
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** The secrets of the account. */
export const Secrets = () => {
  const query = useQuery({ queryKey: ["secrets"], queryFn: () => client.secrets.list() })
  const [editing, setEditing] = useState<string>()
  const [removing, setRemoving] = useState<ListedSecret>()
  const items = query.data ?? []
  const create = (
    <button type="button" className="primary" onClick={() => setEditing("")}>
      Set a secret
    </button>
  )
  return (
    <Page title="Secrets" actions={create}>
      <Listed
        query={query}
        count={items.length}
        empty="No secrets yet. Nodes name them in their inputs, such as {{ secrets.API_KEY }}."
      >
        <Rows items={items} onReplace={setEditing} onRemove={setRemoving} />
      </Listed>
      {editing !== undefined && <Put name={editing} onClose={() => setEditing(undefined)} />}
      {removing !== undefined && (
        <Confirm
          title={`Remove ${removing.name}?`}
          action="Remove"
          act={async () => {
            await client.secrets.remove(removing.name)
            await refresh()
          }}
          onClose={() => setRemoving(undefined)}
        >
          <p>Workflows that name it cannot be started until it is set again.</p>
        </Confirm>
      )}
    </Page>
  )
}
