/**
 * Names of files and objects for the parts of keys.
 *
 * Guarantees: different texts have different names, also where upper and lower case are the same. A
 * name holds only `a-z`, `0-9`, `_`, `-` and `~`, and is not empty, so it never leaves its folder.
 */
import type { ValueKey } from "@millrace/core/ports/ValueStore"

/** No file system that we know takes longer names. */
const nameLength = 255

/** The name of a text; `undefined` if it would be too long. */
const nameOf = (text: string): string | undefined => {
  const name =
    text === ""
      ? "~"
      : text.replace(
          /[^a-z0-9_-]/g,
          (unit) => `~${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        )
  return name.length > nameLength ? undefined : name
}

/** The text of a name; `undefined` if no text has this name. */
const textOf = (name: string): string | undefined => {
  const text = name.replace(/~([\da-f]{4})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  const whole = name === "~" ? "" : text
  return nameOf(whole) === name ? whole : undefined
}

/** The names of a key: account, run, id. `undefined` if one would be too long; ours never are. */
export const namesOf = ({ account, id, runId }: ValueKey): ReadonlyArray<string> | undefined => {
  const names = [account, runId, id].map(nameOf)
  return names.every((name) => name !== undefined) ? names : undefined
}

/** The key of these names; `undefined` if there is none. */
export const keyOf = (names: ReadonlyArray<string>): ValueKey | undefined => {
  const [account, runId, id] = names.map(textOf)
  if (names.length !== 3 || account === undefined || runId === undefined || id === undefined) {
    return undefined
  }
  return { account, runId, id } as ValueKey
}
