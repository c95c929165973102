/**
 * One input of a node, or one key of its data: what it is called, what it takes, its value, where
 * that comes from, and what is wrong with it.
 *
 * Guarantees: what it says of itself stands beside the control for those who do not see it, too.
 */
import type { ComponentType, ReactNode } from "react"
import { useId, useMemo, useState } from "react"
import type { Field, FieldProblem } from "../../model/editing/internal/Fields.ts"
import { fieldsOf, isExpression, isSameForm } from "../../model/editing/internal/Fields.ts"
import type { UnfinishedInput } from "../../model/editing/internal/NodeInputs.ts"
import type { PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Inspector.module.css"
import { LastValue } from "./LastValue.tsx"
import { ProblemMarks } from "./ProblemMarks.tsx"
import { useTypedInput } from "./TypedInput.ts"
import { RequiredMark, ValueControl } from "./ValueControl.tsx"

/** What an input may have its value from besides a literal. */
export interface OtherSource {
  readonly label: string
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
  /** Stands above the value. */
  readonly children: ReactNode
  /** The value is shown, although something else is chosen. */
  readonly hasValue: boolean
}

/** What the field of an application is given. */
export interface OwnFieldProps {
  readonly id: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly readOnly: boolean
}

interface InputFieldProps {
  /** Where its problems are placed: `inputs/url`, or `retry`. */
  readonly place: string
  readonly name: string
  readonly description: string
  readonly schema: unknown
  readonly required: boolean
  readonly takesSecrets: boolean
  readonly readOnly: boolean
  readonly value: unknown
  readonly unfinished: UnfinishedInput | undefined
  readonly problems: ReadonlyArray<PlacedProblem>
  readonly onValue: (value: unknown) => void
  readonly onUnfinished: (unfinished: UnfinishedInput | undefined) => void
  readonly source?: OtherSource | undefined
  /** The field of an application, in the place of that of the schema. */
  readonly own?: ComponentType<OwnFieldProps> | undefined
}

const [edge, ownField] = ["edge", "own"]

const FormChoice = (props: {
  readonly fields: ReadonlyArray<Field>
  readonly chosen: Field
  readonly name: string
  readonly source: OtherSource | undefined
  readonly own: boolean | undefined
  readonly onChoose: (field: Field | undefined) => void
}) => {
  const { chosen, fields, name, onChoose, own, source } = props
  const { messages } = useSurroundings()
  const isListed = fields.some((field) => isSameForm(field, chosen))
  const all = isListed ? fields : [...fields, chosen]
  const at = all.findIndex((field) => isSameForm(field, chosen))
  if (all.length < 2 && source === undefined && own === undefined) return null
  const titleOf = (field: Field) =>
    field.kind === "object" && field.title !== "" ? field.title : messages.forms[field.kind]
  return (
    <select
      aria-label={messages.formOf(name)}
      className={styles.form}
      data-form
      onChange={({ target }) => {
        source?.onChoose(target.value === edge)
        if (target.value !== edge) onChoose(all[Number(target.value)])
      }}
      value={source?.isChosen === true ? edge : own === true ? ownField : at}
    >
      {own === undefined ? null : <option value={ownField}>{messages.forms.own}</option>}
      {all.map((field, index) => (
        <option key={index} value={index}>
          {titleOf(field)}
        </option>
      ))}
      {source === undefined ? null : <option value={edge}>{source.label}</option>}
    </select>
  )
}

const defaultOf = (schema: unknown): string => {
  const given = typeof schema === "object" && schema !== null && "default" in schema
  if (!given) return ""
  return typeof schema.default === "string" ? schema.default : JSON.stringify(schema.default)
}

const Notes = ({
  id,
  problem,
  problems,
  value,
}: {
  readonly id: string
  readonly problem: FieldProblem | undefined
  readonly problems: ReadonlyArray<PlacedProblem>
  readonly value: unknown
}) => {
  const { messages } = useSurroundings()
  return (
    <div id={id}>
      {problem === undefined ? null : (
        <p className={styles.problem}>
          {messages.attemptIn(problem.part ?? "", messages.notYet[problem.reason])}{" "}
          {value === undefined ? "" : messages.stillUsed}
        </p>
      )}
      <ProblemMarks problems={problems.filter(({ isUnfinished }) => isUnfinished !== true)} />
    </div>
  )
}

/** The input as it is shown: in its form, or in that of the application. */
const useForm = ({ onUnfinished, onValue, own, schema, unfinished, value }: InputFieldProps) => {
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const input = useTypedInput({ fields, value, unfinished, onValue, onUnfinished })
  const [isOwn, setOwn] = useState(own !== undefined && !isExpression(value))
  const choose = (next: Field | undefined) => {
    setOwn(next === undefined)
    if (next !== undefined) input.choose(next)
  }
  return { ...input, choose, fields, own: own === undefined ? undefined : isOwn }
}

const Control = ({
  form,
  id,
  isInvalid,
  describedBy,
  ...props
}: InputFieldProps & {
  readonly form: ReturnType<typeof useForm>
  readonly id: string
  readonly isInvalid: boolean
  readonly describedBy: string | undefined
}) => {
  const { name, onValue, own: Own, readOnly, required, schema, takesSecrets, value } = props
  if (Own !== undefined && form.own === true)
    return <Own id={id} onChange={onValue} readOnly={readOnly} value={value} />
  return (
    <ValueControl
      describedBy={describedBy}
      field={form.field}
      id={id}
      isInvalid={isInvalid}
      isRequired={required}
      label={name}
      onTyped={form.type}
      placeholder={defaultOf(schema)}
      readOnly={readOnly}
      takesSecrets={takesSecrets}
      typed={form.typed}
    />
  )
}

/** One input. */
export const InputField = (props: InputFieldProps) => {
  const { description, name, place, problems, readOnly, required, source } = props
  const id = useId()
  const form = useForm(props)
  const { field, fields, problem } = form
  const [isInside, setInside] = useState(false)
  const isShown = source === undefined || !source.isChosen || source.hasValue
  const isInvalid = problem !== undefined || problems.some(({ isWarning }) => !isWarning)
  const hasNotes = problem !== undefined || problems.length > 0
  const about = [description === "" ? "" : `${id}about`, hasNotes ? `${id}wrong` : ""]
  const describedBy = about.filter((each) => each !== "").join(" ") || undefined
  return (
    <div
      className={styles.field}
      data-field={place}
      data-invalid={isInvalid}
      onBlur={() => {
        form.flush()
        setInside(false)
      }}
      onFocus={() => setInside(true)}
      onKeyDownCapture={(event) => {
        // A shortcut, such as that for saving, means what is typed, too.
        if (event.ctrlKey || event.metaKey) form.flush()
      }}
    >
      <div className={styles.fieldHead}>
        <label htmlFor={id}>
          <span dir="auto">{name}</span>
          {required ? <RequiredMark /> : null}
        </label>
        {readOnly ? null : (
          <FormChoice
            chosen={field}
            fields={fields}
            name={name}
            onChoose={form.choose}
            own={form.own}
            source={source}
          />
        )}
      </div>
      {source?.children}
      {isShown ? (
        <Control {...props} describedBy={describedBy} form={form} id={id} isInvalid={isInvalid} />
      ) : null}
      {isInside && isExpression(props.value) ? <LastValue port={name} text={props.value} /> : null}
      {description === "" ? null : (
        <p className={theme.muted} id={`${id}about`}>
          {description}
        </p>
      )}
      {hasNotes ? (
        <Notes id={`${id}wrong`} problem={problem} problems={problems} value={props.value} />
      ) : null}
    </div>
  )
}
