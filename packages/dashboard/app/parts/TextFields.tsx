/**
 * Fields of a form whose state is one record of texts.
 *
 * Leaves out: what the texts mean, and checking them.
 */
import type { ReactNode } from "react"

/** The texts, and what sets one. */
export interface Texts<Name extends string> {
  readonly texts: Readonly<Record<Name, string>>
  readonly set: (name: Name, text: string) => void
}

interface Field<Name extends string> extends Texts<Name> {
  readonly label: string
  readonly name: Name
}

/** A line of text. */
export const Line = <Name extends string>({
  label,
  name,
  set,
  texts,
  type = "text",
  ...more
}: Field<Name> & {
  readonly type?: string
  readonly required?: boolean
  readonly placeholder?: string
  readonly min?: number
  readonly list?: string
}) => (
  <label className="field">
    {label}
    <input
      {...more}
      type={type}
      value={texts[name]}
      onChange={({ target }) => set(name, target.value)}
    />
  </label>
)

/** Some lines of text, such as JSON. */
export const Lines = <Name extends string>({
  label,
  name,
  placeholder,
  set,
  texts,
}: Field<Name> & { readonly placeholder?: string }) => (
  <label className="field">
    {label}
    <textarea
      rows={3}
      spellCheck={false}
      placeholder={placeholder}
      value={texts[name]}
      onChange={({ target }) => set(name, target.value)}
    />
  </label>
)

/** One of some values; its children are the options. */
export const Choice = <Name extends string>({
  children,
  label,
  name,
  set,
  texts,
}: Field<Name> & { readonly children: ReactNode }) => (
  <label className="field">
    {label}
    <select value={texts[name]} onChange={({ target }) => set(name, target.value)}>
      {children}
    </select>
  </label>
)
