/**
 * Who is signed in, and links for others.
 */
import type { CreatedSession, SessionItem as Session } from "@millrace/api/ConsoleClient"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { basePath, client, queries, sentenceOf } from "../Console.ts"
import { Confirm } from "../parts/Confirm.tsx"
import { CopyButton } from "../parts/CopyButton.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"
import { timeText } from "../Words.ts"

const roles = [
  { role: "viewer", words: "Viewer: sees workflows, runs and deliveries" },
  { role: "editor", words: "Editor: also starts, cancels and changes" },
  { role: "owner", words: "Owner: also keys, secrets and sessions" },
] as const

const refresh = () => queries.invalidateQueries({ queryKey: ["sessions"] })

const Invite = ({ onClose }: { readonly onClose: () => void }) => {
  const [role, setRole] = useState<(typeof roles)[number]["role"]>("viewer")
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: (): Promise<CreatedSession> => client.sessions.create({ role, kind: "link" }),
    onSuccess: refresh,
  })
  const link = `${location.origin}${basePath}/login#t=${data?.ticket}`
  return (
    <Dialog title="Make a sign-in link" onClose={onClose}>
      <label className="field">
        Role
        <select
          value={role}
          disabled={data !== undefined}
          onChange={({ target }) => setRole(roles[target.selectedIndex]!.role)}
        >
          {roles.map((each) => (
            <option key={each.role} value={each.role}>
              {each.words}
            </option>
          ))}
        </select>
      </label>
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {data !== undefined && (
        <>
          <p>The link works once, within ten minutes. It is not shown again.</p>
          <output className="secret">{link}</output>
          <CopyButton text={link} label="Copy the link" />
        </>
      )}
      <footer>
        <button type="button" onClick={onClose}>
          Close
        </button>
        {data === undefined && (
          <button type="button" className="primary" disabled={isPending} onClick={() => mutate()}>
            Make a link
          </button>
        )}
      </footer>
    </Dialog>
  )
}

const Rows = ({
  items,
  onEnd,
}: {
  readonly items: ReadonlyArray<Session>
  readonly onEnd: (session: Session) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Sessions">
    <table>
      <thead>
        <tr>
          <th scope="col">Role</th>
          <th scope="col">Sees</th>
          <th scope="col">Created</th>
          <th scope="col">Last used</th>
          <th scope="col">Ends</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((session) => (
          <tr key={session.id}>
            <td>{session.role}</td>
            <td>{session.workflows === null ? "All" : `${session.workflows.length} workflows`}</td>
            <td>{timeText(session.createdAt)}</td>
            <td>{session.lastUsedAt === null ? "Never" : timeText(session.lastUsedAt)}</td>
            <td>{timeText(session.expiresAt)}</td>
            <td>
              <button
                type="button"
                aria-label={`End the session of ${timeText(session.createdAt)}`}
                onClick={() => onEnd(session)}
              >
                End
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** The sessions of the account. */
export const Sessions = () => {
  const query = useQuery({ queryKey: ["sessions"], queryFn: () => client.sessions.list() })
  const [isInviting, setIsInviting] = useState(false)
  const [ending, setEnding] = useState<Session>()
  const items = query.data ?? []
  const invite = (
    <button type="button" className="primary" onClick={() => setIsInviting(true)}>
      Make a sign-in link
    </button>
  )
  return (
    <Page title="Sessions" actions={invite}>
      <Listed query={query} count={items.length} empty="Nobody is signed in.">
        <Rows items={items} onEnd={setEnding} />
      </Listed>
      {isInviting && <Invite onClose={() => setIsInviting(false)} />}
      {ending !== undefined && (
        <Confirm
          title="End this session?"
          action="End"
          act={async () => {
            await client.sessions.revoke(ending.id)
            await refresh()
          }}
          onClose={() => setEnding(undefined)}
        >
          <p>Whoever uses it is signed out with the next request.</p>
        </Confirm>
      )}
    </Page>
  )
}
