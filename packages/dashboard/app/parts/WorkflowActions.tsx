/**
 * What can be done with a workflow as a whole: export, duplicate, delete.
 */
import type { Workflow } from "@millrace/api/PromiseClient"
import { useMutation } from "@tanstack/react-query"
import { Copy, Download, Trash2 } from "lucide-react"
import { useState } from "react"
import { useLocation } from "wouter"
import { client, queries, sentenceOf } from "../Console.ts"
import { Confirm } from "./Confirm.tsx"
import { Notice } from "./Notice.tsx"

/** Hands a workflow to the browser as a file, which *Import* reads. */
const download = async (id: string) => {
  const { description, edges, name, nodes, settings } = await client.workflows.get(id)
  const text = JSON.stringify({ name, description, nodes, edges, settings }, null, 2)
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }))
  link.download = `${name.replaceAll(/[^\p{L}\p{N}_-]+/gu, "-")}.json`
  link.click()
  URL.revokeObjectURL(link.href)
}

/** The buttons. */
export const WorkflowActions = ({
  mayEdit,
  workflow: { id, name },
}: {
  readonly workflow: Workflow
  readonly mayEdit: boolean
}) => {
  const [, navigate] = useLocation()
  const [isDeleting, setIsDeleting] = useState(false)
  const exported = useMutation({ mutationFn: () => download(id) })
  const copied = useMutation({
    mutationFn: () => client.workflows.duplicate(id),
    onSuccess: async (copy) => {
      await queries.invalidateQueries({ queryKey: ["workflows"] })
      navigate(`/workflows/${copy.id}`)
    },
  })
  const remove = async () => {
    await client.workflows.remove(id)
    await queries.invalidateQueries({ queryKey: ["workflows"] })
    navigate("/")
  }
  const error = exported.error ?? copied.error
  return (
    <>
      <button type="button" onClick={() => exported.mutate()}>
        <Download aria-hidden size={16} />
        Export
      </button>
      {mayEdit && (
        <>
          <button type="button" disabled={copied.isPending} onClick={() => copied.mutate()}>
            <Copy aria-hidden size={16} />
            Duplicate
          </button>
          <button type="button" className="danger" onClick={() => setIsDeleting(true)}>
            <Trash2 aria-hidden size={16} />
            Delete
          </button>
        </>
      )}
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {isDeleting && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          act={remove}
          onClose={() => setIsDeleting(false)}
        >
          <p>The workflow is gone then. Its runs stay, and those in progress go on.</p>
        </Confirm>
      )}
    </>
  )
}
