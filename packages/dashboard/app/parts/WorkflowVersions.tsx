/**
 * The published versions of a workflow: what starts take, and what was published before.
 *
 * Guarantees: what is published is what the server has, so it waits until all that was drawn here
 * is saved. Leaves out: comparing two versions, and bringing one back; their dialogs do that.
 */
import type { VersionItem } from "@millrace/api/PromiseClient"
import { useEditing } from "@millrace/react"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries } from "../Console.ts"
import { timeText } from "../Words.ts"
import { Confirm } from "./Confirm.tsx"
import { Listed } from "./Listed.tsx"
import { PublishDialog } from "./PublishDialog.tsx"
import { SavedLine } from "./SavedLine.tsx"
import { VersionChanges } from "./VersionChanges.tsx"
import { VersionPicture } from "./VersionPicture.tsx"

const keyOf = (id: string) => ["versions", id]

/** Reads again what versions there are, and what distinguishes them. */
const refresh = (id: string) => queries.invalidateQueries({ queryKey: keyOf(id) })

const useVersions = (id: string) =>
  useQuery({
    queryKey: keyOf(id),
    queryFn: async () => {
      const items: Array<VersionItem> = []
      for await (const item of client.workflows.versions(id, { limit: 50 })) items.push(item)
      return items
    },
  })

/** Which workflow starts take, in a sentence. */
const inForce = (items: ReadonlyArray<VersionItem>): string => {
  const taken = items.find(({ published }) => published)
  const who = "Starts, triggers and other workflows take"
  return taken === undefined
    ? `No version is published. ${who} the draft, which is what the editor shows.`
    : `${who} version ${taken.number}. The editor shows the draft, and its Run button executes it.`
}

const words = { view: "View", compare: "Compare", restore: "Restore", unpublish: "Unpublish" }
type Asked = keyof typeof words

const Row = ({
  item,
  onAsk,
  readOnly,
}: {
  readonly item: VersionItem
  readonly readOnly: boolean
  readonly onAsk: (what: Asked) => void
}) => {
  const always = ["view", "compare"] as const
  const changing = item.published ? (["restore", "unpublish"] as const) : (["restore"] as const)
  return (
    <tr>
      <td>{item.number}</td>
      <td>{timeText(item.publishedAt)}</td>
      <td dir="auto">{item.note ?? ""}</td>
      <td>{item.published ? "Published" : ""}</td>
      <td className="actions">
        {[...always, ...(readOnly ? [] : changing)].map((what) => (
          <button
            key={what}
            type="button"
            aria-label={`${words[what]} version ${item.number}`}
            onClick={() => onAsk(what)}
          >
            {words[what]}
          </button>
        ))}
      </td>
    </tr>
  )
}

const Rows = ({
  items,
  onAsk,
  readOnly,
}: {
  readonly items: ReadonlyArray<VersionItem>
  readonly readOnly: boolean
  readonly onAsk: (what: Asked, item: VersionItem) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Versions">
    <table>
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">Published at</th>
          <th scope="col">Note</th>
          <th scope="col">State</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <Row
            key={item.number}
            item={item}
            readOnly={readOnly}
            onAsk={(what) => onAsk(what, item)}
          />
        ))}
      </tbody>
    </table>
  </div>
)

const Answer = ({
  id,
  item,
  items,
  onClose,
  what,
}: {
  readonly id: string
  readonly what: Asked
  readonly item: VersionItem
  readonly items: ReadonlyArray<VersionItem>
  readonly onClose: () => void
}) => {
  const { number } = item
  switch (what) {
    case "view":
      return <VersionPicture id={id} number={number} onClose={onClose} />
    case "compare":
      return <VersionChanges id={id} number={number} items={items} onClose={onClose} />
    case "restore": {
      const restore = async () => {
        await client.workflows.restore(id, number)
        await refresh(id)
      }
      return (
        <Confirm
          title={`Restore version ${number}?`}
          action="Restore"
          act={restore}
          onClose={onClose}
        >
          <p>
            The draft gets the content of version {number}; what it has now is lost, unless it was
            published. What is published stays until you publish again.
          </p>
        </Confirm>
      )
    }
    case "unpublish": {
      const unpublish = async () => {
        await client.workflows.unpublish(id)
        await refresh(id)
      }
      return (
        <Confirm title="Unpublish?" action="Unpublish" act={unpublish} onClose={onClose}>
          <p>
            Starts, triggers and other workflows take the draft then, as it is saved. The versions
            stay; publish again to go back.
          </p>
        </Confirm>
      )
    }
  }
}

/** The tab. */
export const WorkflowVersions = ({
  id,
  readOnly,
}: {
  readonly id: string
  readonly readOnly: boolean
}) => {
  const query = useVersions(id)
  const { saving, savingProblem } = useEditing(id)
  const [isPublishing, setIsPublishing] = useState(false)
  const [asked, setAsked] = useState<{ readonly what: Asked; readonly item: VersionItem }>()
  const items = query.data ?? []
  return (
    <>
      {query.data !== undefined && <p>{inForce(items)}</p>}
      {!readOnly && (
        <>
          <p className="actions">
            <button
              type="button"
              className="primary"
              disabled={saving !== "saved"}
              onClick={() => setIsPublishing(true)}
            >
              Publish the draft
            </button>
          </p>
          {saving !== "saved" && <SavedLine saving={saving} savingProblem={savingProblem} />}
        </>
      )}
      <Listed
        query={query}
        count={items.length}
        empty={
          "There are no versions. Publish the draft when it is right: then you can go on drawing, " +
          "and nothing that is started changes until you publish again."
        }
      >
        <Rows items={items} readOnly={readOnly} onAsk={(what, item) => setAsked({ what, item })} />
      </Listed>
      {isPublishing && (
        <PublishDialog
          id={id}
          items={items}
          onPublished={() => refresh(id)}
          onClose={() => setIsPublishing(false)}
        />
      )}
      {asked !== undefined && (
        <Answer id={id} items={items} {...asked} onClose={() => setAsked(undefined)} />
      )}
    </>
  )
}
