/**
 * Where the files of values are: `account/ab/run/id`. The part `ab`, which follows from the run,
 * keeps folders short: a page of a listing does not read the names of all runs.
 *
 * Guarantees: files have one order, which does not change.
 */
import type { ValueKey } from "@millrace/core/ports/ValueStore"
import { createHash } from "node:crypto"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { unlessGone } from "./Disk.ts"
import { keyOf, namesOf } from "./ValueNames.ts"

type Path = ReadonlyArray<string>

const depth = 4

const partsOf = (key: ValueKey): Path | undefined => {
  const [account, run, id] = namesOf(key) ?? []
  if (account === undefined || run === undefined || id === undefined) return undefined
  return [account, createHash("sha256").update(run).digest("hex").slice(0, 2), run, id]
}

/** The path of a value's file; `undefined` if its names would be too long. */
export const pathOf = (key: ValueKey): string | undefined => {
  const parts = partsOf(key)
  return parts && join(...parts)
}

/** The key of a file; `undefined` for a file that is no value. */
export const keyOfFile = (path: string): ValueKey | undefined => {
  const [account, , run, id] = path.split(/[/\\]/)
  const key = keyOf([account ?? "", run ?? "", id ?? ""])
  return key !== undefined && pathOf(key) === path ? key : undefined
}

async function* walk(
  root: string,
  path: Path,
  after: Path | undefined,
): AsyncGenerator<string, void> {
  if (path.length === depth) {
    yield join(...path)
    return
  }
  const [first, ...rest] = after ?? []
  const names = (await unlessGone(readdir(join(root, ...path)))) ?? []
  for (const name of names.toSorted()) {
    const isBefore = first !== undefined && (name < first || (name === first && rest.length === 0))
    if (isBefore || name.startsWith(".")) continue
    yield* walk(root, [...path, name], name === first ? rest : undefined)
  }
}

/** The paths of all files behind that of a key. */
export const filesAfter = (
  root: string,
  after: ValueKey | undefined,
): AsyncGenerator<string, void> => walk(root, [], after && partsOf(after))
