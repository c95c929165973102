/**
 * Makes a workflow: a new one with a request node, or one from a file that was exported.
 */
import { useMutation } from "@tanstack/react-query"
import { FilePlus2, Upload } from "lucide-react"
import { useRef } from "react"
import { useLocation } from "wouter"
import { client, queries, sentenceOf } from "../Console.ts"
import { Notice } from "./Notice.tsx"

type Content = Parameters<typeof client.workflows.create>[0]

const empty: Content = {
  name: "New workflow",
  nodes: [{ id: "request", type: "request", position: { x: 40, y: 40 } }],
  edges: [],
}

/** Why a file cannot be imported. */
class FileProblem extends Error {}

/** What a file holds of a workflow: what a server gives it itself, such as an id, is left out. */
const contentOf = async (file: File): Promise<Content> => {
  const text = await file.text()
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw new FileProblem(`${file.name} is not JSON. Choose a file that was exported here.`)
  }
  if (typeof read !== "object" || read === null || !("nodes" in read)) {
    throw new FileProblem(`${file.name} holds no workflow: it has no nodes.`)
  }
  const { description, edges, name, nodes, settings } = read as Content
  const known = { name, description, nodes, edges, settings }
  const given = Object.entries(known).filter(([, value]) => value !== undefined)
  return { name: file.name, ...Object.fromEntries(given) }
}

/** Two buttons, and why one of them did not work. */
export const NewWorkflow = () => {
  const [, navigate] = useLocation()
  const field = useRef<HTMLInputElement>(null)
  const { error, isPending, mutate } = useMutation({
    mutationFn: async (file: File | undefined) =>
      client.workflows.create(file === undefined ? empty : await contentOf(file)),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ["workflows"] })
      navigate(`/workflows/${id}`)
    },
  })
  const problem = error instanceof FileProblem ? error.message : error && sentenceOf(error)
  return (
    <>
      <button type="button" disabled={isPending} onClick={() => field.current?.click()}>
        <Upload aria-hidden size={16} />
        Import
      </button>
      <input
        ref={field}
        type="file"
        accept="application/json,.json"
        aria-label="File of a workflow"
        hidden
        onChange={({ target }) => {
          const [file] = target.files ?? []
          target.value = ""
          if (file !== undefined) mutate(file)
        }}
      />
      <button
        type="button"
        className="primary"
        disabled={isPending}
        onClick={() => mutate(undefined)}
      >
        <FilePlus2 aria-hidden size={16} />
        New workflow
      </button>
      {problem !== null && <Notice kind="error">{problem}</Notice>}
    </>
  )
}
