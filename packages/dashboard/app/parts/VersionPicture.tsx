/**
 * A version of a workflow on the canvas, where nothing can be changed.
 */
import { Canvas } from "@millrace/react"
import { useQuery } from "@tanstack/react-query"
import { client, sentenceOf, useNodeTypes } from "../Console.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"

/** The dialog. */
export const VersionPicture = ({
  id,
  number,
  onClose,
}: {
  readonly id: string
  readonly number: number
  readonly onClose: () => void
}) => {
  const { data: nodeTypes } = useNodeTypes()
  const { data: version, error } = useQuery({
    queryKey: ["version", id, number],
    queryFn: () => client.workflows.version(id, number),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <Dialog title={`Version ${number}`} onClose={onClose}>
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {version === undefined ? (
        error === null && <p className="quiet">Loading</p>
      ) : (
        <div className="drawn">
          <Canvas value={version} nodeTypes={nodeTypes} readOnly />
        </div>
      )}
    </Dialog>
  )
}
