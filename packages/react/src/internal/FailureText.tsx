/**
 * Why something could not be read, in one sentence.
 */
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

/** The sentence of an error. */
export const sentenceOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** Shows an error. */
export const Failure = ({ error }: { readonly error: unknown }) => {
  const { messages } = useSurroundings()
  return (
    <p className={theme.failure} role="alert">
      {messages.error(sentenceOf(error))}
    </p>
  )
}
