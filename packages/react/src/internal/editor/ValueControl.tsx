/**
 * The control for a value: one line, a form, a list, or JSON.
 *
 * Guarantees: controlled; it hands on what is typed, right or wrong. Leaves out: what it means.
 */
import { Plus, Trash2 } from "lucide-react"
import type { ReactNode } from "react"
import type { Field, ObjectField, SimpleField, Typed } from "../../model/editing/internal/Fields.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Inspector.module.css"
import { JsonControl } from "./JsonControl.tsx"
import type { ControlProps } from "./NameInput.tsx"
import { SimpleControl } from "./SimpleControl.tsx"

interface ValueProps extends ControlProps {
  readonly field: Field
  readonly typed: Typed
  readonly onTyped: (typed: Typed) => void
  readonly takesSecrets: boolean
}

type PartsTyped = Readonly<Record<string, string>>

interface PartsProps extends Omit<ValueProps, "field" | "typed" | "onTyped"> {
  readonly field: ObjectField
  readonly typed: PartsTyped
  readonly onTyped: (typed: PartsTyped) => void
}

const Parts = ({ field, onTyped, typed, ...control }: PartsProps) => (
  <>
    {field.parts.map((part) => {
      const id = `${control.id}-${part.name}`
      return (
        <div className={styles.part} key={part.name}>
          <label htmlFor={id}>
            {part.name}
            {part.required ? <RequiredMark /> : null}
          </label>
          <SimpleControl
            {...control}
            field={part.field}
            id={id}
            isRequired={part.required}
            label={part.name}
            onText={(text) => onTyped({ ...typed, [part.name]: text })}
            placeholder=""
            text={typed[part.name] ?? ""}
          />
          {part.description === "" ? null : <p className={theme.muted}>{part.description}</p>}
        </div>
      )
    })}
  </>
)

/** Says that a value is required. */
export const RequiredMark = () => {
  const { messages } = useSurroundings()
  return <span className={styles.required}>{messages.required}</span>
}

const Group = ({ children, describedBy, id, label }: ControlProps & { children: ReactNode }) => (
  <div
    aria-describedby={describedBy}
    aria-label={label}
    className={styles.group}
    id={id}
    role="group"
  >
    {children}
  </div>
)

interface EntriesProps<A> extends ControlProps {
  readonly entries: ReadonlyArray<A>
  readonly onEntries: (entries: ReadonlyArray<A>) => void
  readonly empty: A
  readonly draw: (entry: A, index: number, change: (entry: A) => void) => ReactNode
}

const Entries = <A,>(props: EntriesProps<A>) => {
  const { draw, empty, entries, onEntries, readOnly } = props
  const { messages } = useSurroundings()
  return (
    <Group {...props}>
      {entries.map((entry, index) => (
        <div className={styles.entry} key={index}>
          <div className={styles.entryParts}>
            {draw(entry, index, (next) => onEntries(entries.with(index, next)))}
          </div>
          {readOnly ? null : (
            <button
              aria-label={messages.removeEntry(index + 1)}
              className={styles.icon}
              onClick={() => onEntries(entries.toSpliced(index, 1))}
              type="button"
            >
              <Trash2 aria-hidden size={16} />
            </button>
          )}
        </div>
      ))}
      {readOnly ? null : (
        <button
          className={theme.button}
          onClick={() => onEntries([...entries, empty])}
          type="button"
        >
          <Plus aria-hidden size={16} />
          {messages.addEntry}
        </button>
      )}
    </Group>
  )
}

type MapProps = Omit<ValueProps, "field"> & { readonly field: SimpleField }

const MapControl = ({ field, onTyped, typed, ...control }: MapProps) => {
  const { messages } = useSurroundings()
  const entries = typed as ReadonlyArray<readonly [string, string]>
  return (
    <Entries<readonly [string, string]>
      {...control}
      draw={([name, text], index, change) => (
        <>
          <input
            aria-label={`${messages.entryName} ${index + 1}`}
            autoComplete="off"
            className={styles.name}
            dir="auto"
            onChange={(event) => change([event.target.value, text])}
            placeholder={messages.entryName}
            readOnly={control.readOnly}
            spellCheck={false}
            value={name}
          />
          <SimpleControl
            {...control}
            field={field}
            id={`${control.id}-${index}`}
            isRequired={false}
            label={messages.entryValue(name)}
            onText={(next) => change([name, next])}
            text={text}
          />
        </>
      )}
      empty={["", ""]}
      entries={entries}
      onEntries={onTyped}
    />
  )
}

type ListProps = Omit<ValueProps, "field"> & { readonly field: SimpleField | ObjectField }

const ListControl = ({ field, onTyped, typed, ...control }: ListProps) => {
  const { messages } = useSurroundings()
  if (field.kind === "object")
    return (
      <Entries<PartsTyped>
        {...control}
        draw={(entry, index, change) => (
          <Parts
            {...control}
            field={field}
            id={`${control.id}-${index}`}
            onTyped={change}
            typed={entry}
          />
        )}
        empty={{}}
        entries={typed as ReadonlyArray<PartsTyped>}
        onEntries={onTyped}
      />
    )
  return (
    <Entries<string>
      {...control}
      draw={(text, index, change) => (
        <SimpleControl
          {...control}
          field={field}
          id={`${control.id}-${index}`}
          isRequired={false}
          label={messages.entry(index + 1)}
          onText={change}
          text={text}
        />
      )}
      empty=""
      entries={typed as ReadonlyArray<string>}
      onEntries={onTyped}
    />
  )
}

/** The control for a field. */
export const ValueControl = (props: ValueProps) => {
  const { field, onTyped, typed } = props
  const text = typeof typed === "string" ? typed : ""
  switch (field.kind) {
    case "object":
      return (
        <Group {...props}>
          <Parts {...props} field={field} typed={typed as PartsTyped} />
        </Group>
      )
    case "map":
      return <MapControl {...props} field={field.field} />
    case "list":
      return <ListControl {...props} field={field.field} />
    case "json":
      return <JsonControl {...props} onText={onTyped} text={text} />
    default:
      return <SimpleControl {...props} field={field} onText={onTyped} text={text} />
  }
}
