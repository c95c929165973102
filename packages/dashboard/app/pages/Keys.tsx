/**
 * API keys. A new key is shown once, and the dialog closes only when somebody says it is kept.
 */
import type { ConsoleKey as Key } from "@millrace/api/ConsoleClient"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries, sentenceOf } from "../Console.ts"
import { Confirm } from "../parts/Confirm.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"
import { ShownOnce } from "../parts/ShownOnce.tsx"
import { numberText, timeText } from "../Words.ts"

const refresh = () => queries.invalidateQueries({ queryKey: ["keys"] })

const Create = ({
  onClose,
  onMade,
}: {
  readonly onClose: () => void
  readonly onMade: (secret: string) => void
}) => {
  const [label, setLabel] = useState("")
  const [perMinute, setPerMinute] = useState("60")
  const [perDay, setPerDay] = useState("1000")
  const { error, isPending, mutate } = useMutation({
    mutationFn: () =>
      client.keys.create({ label, perMinute: Number(perMinute), perDay: Number(perDay) }),
    onSuccess: ({ secret }) => {
      void refresh()
      onMade(secret)
    },
  })
  const field = (words: string, value: string, set: (value: string) => void, type = "number") => (
    <label className="field">
      {words}
      <input required type={type} value={value} onChange={({ target }) => set(target.value)} />
    </label>
  )
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        {field("Label", label, setLabel, "text")}
        {field("Requests a minute", perMinute, setPerMinute)}
        {field("Requests a day", perDay, setPerDay)}
        {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isPending}>
            Create
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

const stateOf = ({ expiresAt, revokedAt }: Key): string => {
  if (revokedAt !== null) return `Revoked ${timeText(revokedAt)}`
  return expiresAt === null ? "Live" : `Expires ${timeText(expiresAt)}`
}

const Rows = ({
  keys,
  onRevoke,
}: {
  readonly keys: ReadonlyArray<Key>
  readonly onRevoke: (key: Key) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Keys">
    <table>
      <thead>
        <tr>
          <th scope="col">Label</th>
          <th scope="col">Begins with</th>
          <th scope="col">State</th>
          <th scope="col">Last used</th>
          <th scope="col">Limits</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <td dir="auto">{key.label}</td>
            <td>
              <code>{key.prefix}…</code>
            </td>
            <td>{stateOf(key)}</td>
            <td>{key.lastUsedAt === null ? "Never" : timeText(key.lastUsedAt)}</td>
            <td>
              {numberText(key.perMinute)} a minute, {numberText(key.perDay)} a day
            </td>
            <td>
              {key.revokedAt === null && (
                <button
                  type="button"
                  aria-label={`Revoke ${key.label}`}
                  onClick={() => onRevoke(key)}
                >
                  Revoke
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** The keys of the account. */
export const Keys = () => {
  const query = useQuery({ queryKey: ["keys"], queryFn: () => client.keys.list() })
  const [isCreating, setIsCreating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const [revoking, setRevoking] = useState<Key>()
  const keys = query.data ?? []
  const create = (
    <button type="button" className="primary" onClick={() => setIsCreating(true)}>
      Create a key
    </button>
  )
  return (
    <Page title="API keys" actions={create}>
      <Listed query={query} count={keys.length} empty="No keys yet. A program needs one to call.">
        <Rows keys={keys} onRevoke={setRevoking} />
      </Listed>
      {isCreating && (
        <Create
          onClose={() => setIsCreating(false)}
          onMade={(made) => {
            setIsCreating(false)
            setSecret(made)
          }}
        />
      )}
      {secret !== undefined && (
        <ShownOnce noun="key" text={secret} onClose={() => setSecret(undefined)} />
      )}
      {revoking !== undefined && (
        <Confirm
          title={`Revoke ${revoking.label}?`}
          action="Revoke"
          act={async () => {
            await client.keys.revoke(revoking.id)
            await refresh()
          }}
          onClose={() => setRevoking(undefined)}
        >
          <p>It is refused from the next request on, for good.</p>
        </Confirm>
      )}
    </Page>
  )
}
