/**
 * Starts a workflow with values: a form for the fields of its request node.
 *
 * Guarantees: a refused start keeps what was typed and says every problem. Leaves out: checking the
 * values; the server does.
 */
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { useLocation } from "wouter"
import { client, sentenceOf } from "../Console.ts"
import type { RequestField } from "../RequestFields.ts"
import { fieldsOf, textOf, valuesOf } from "../RequestFields.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"

const Field = ({
  field,
  onChange,
  text,
}: {
  readonly field: RequestField
  readonly text: string
  readonly onChange: (text: string) => void
}) => {
  const hint = field.description === undefined ? undefined : `hint-${field.name}`
  const common = { value: text, "aria-describedby": hint, required: field.required === true }
  return (
    <label className="field">
      <span dir="auto">
        {field.name} <span className="quiet">{field.type}</span>
      </span>
      {field.type === "boolean" ? (
        <select {...common} onChange={({ target }) => onChange(target.value)}>
          <option value="">Not given</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : field.type === "string" || field.type === "number" ? (
        <input
          {...common}
          inputMode={field.type === "number" ? "decimal" : undefined}
          onChange={({ target }) => onChange(target.value)}
        />
      ) : (
        <textarea
          {...common}
          rows={4}
          spellCheck={false}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
      {hint !== undefined && (
        <span id={hint} className="quiet" dir="auto">
          {field.description}
        </span>
      )}
    </label>
  )
}

const Form = ({
  fields,
  onClose,
  workflowId,
}: {
  readonly fields: ReadonlyArray<RequestField>
  readonly workflowId: string
  readonly onClose: () => void
}) => {
  const [, navigate] = useLocation()
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(fields.map((field) => [field.name, textOf(field.default)])),
  )
  const [isOdd, setIsOdd] = useState<string>()
  const { error, isPending, mutate } = useMutation({
    mutationFn: async (values: Parameters<typeof client.runs.start>[0]["values"]) =>
      client.runs.start({ workflowId, ...(values === undefined ? {} : { values }) }),
    onSuccess: ({ id }) => navigate(`/runs/${id}`),
  })
  const start = () => {
    const { problem, values } = valuesOf(fields, texts)
    setIsOdd(problem)
    if (problem === undefined) mutate(values)
  }
  const problem = isOdd ?? (error === null ? undefined : sentenceOf(error))
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        start()
      }}
    >
      {fields.length === 0 && <p>The workflow asks for no values.</p>}
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          text={texts[field.name] ?? ""}
          onChange={(text) => setTexts({ ...texts, [field.name]: text })}
        />
      ))}
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <footer>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="primary" disabled={isPending}>
          Run
        </button>
      </footer>
    </form>
  )
}

/** Asks for the values of a workflow, and starts it. */
export const StartDialog = ({
  onClose,
  workflowId,
}: {
  readonly workflowId: string
  readonly onClose: () => void
}) => {
  const { data: workflow, error } = useQuery({
    queryKey: ["workflow", workflowId],
    queryFn: () => client.workflows.get(workflowId),
  })
  return (
    <Dialog title={workflow === undefined ? "Run" : `Run ${workflow.name}`} onClose={onClose}>
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {workflow !== undefined && (
        <Form fields={fieldsOf(workflow)} workflowId={workflowId} onClose={onClose} />
      )}
    </Dialog>
  )
}
