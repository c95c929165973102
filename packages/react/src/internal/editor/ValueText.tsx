/**
 * A value of a document as text, to compare it with another one.
 */
import { useSurroundings } from "../Surroundings.ts"

/** Characters of a value that are shown. */
const charactersShown = 4_000

const textOf = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2)
  return text.length > charactersShown ? `${text.slice(0, charactersShown)} ...` : text
}

/** Shows a value; `undefined` and an empty text are said in words. */
export const ValueText = ({ missing, value }: { value: unknown; missing?: string }) => {
  const { messages } = useSurroundings()
  return <pre>{value === undefined ? (missing ?? messages.noValue) : textOf(value) || '""'}</pre>
}

/** The name of a field, such as `data.inputs.url`. */
export const useFieldName = (): ((path: ReadonlyArray<string>) => string) => {
  const { messages } = useSurroundings()
  return (path) => {
    if (path[0] === "position") return messages.placeChanged
    const own = path[0] === "data" ? path.slice(path[1] === "inputs" ? 2 : 1) : path
    return own.join(".")
  }
}
