/**
 * What `millrace nodes` does.
 *
 * Leaves out: the command line, and running servers.
 */
import * as Builtin from "@millrace/nodes/Builtin"
import { Console, Effect } from "effect"
import { join } from "node:path"
import { CommandFailed } from "../../CommandFailed.ts"
import * as Table from "../command/Table.ts"
import type { NewNode } from "./NewNode.ts"
import { missingPackages, problemOfName, write } from "./NewNode.ts"
import * as NodeModules from "./NodeModules.ts"

const print = (lines: ReadonlyArray<string>) =>
  Effect.forEach(lines, (line) => Console.log(line), { discard: true })

/** Writes a new node type with its test, and says how to use it. */
export const create = Effect.fnUntraced(function* (wanted: NewNode) {
  const problem = problemOfName(wanted.name)
  if (problem !== undefined) return yield* new CommandFailed({ message: problem, reason: "usage" })
  const cwd = process.cwd()
  const written = yield* Effect.try({
    try: () => write(wanted, cwd),
    catch: (error) => new CommandFailed({ message: String(error), reason: "failed" }),
  })
  if (typeof written === "string") {
    return yield* new CommandFailed({ message: written, reason: "failed" })
  }
  const missing = missingPackages(join(cwd, wanted.folder))
  yield* print([
    ...Table.linesOf(
      ["file", "what it is"],
      [
        [written.type, "the node type"],
        [written.test, "its test"],
        [written.index, "exports every type of the folder"],
      ],
    ),
    "",
    ...(missing.length === 0 ? [] : [`npm install ${missing.join(" ")}`]),
    `node --test ${written.test}`,
    `millrace dev --nodes ./${written.index}`,
  ])
})

/** Prints the node types that a server with these modules would have. */
export const list = Effect.fnUntraced(function* (names: ReadonlyArray<string>, isJson: boolean) {
  const builtin = Builtin.builtin.map(({ type }) => type)
  const { types } = yield* NodeModules.load(names, builtin, process.cwd(), 0)
  const all = [...builtin, ...types.map(({ type }) => type)]
  if (isJson) {
    const items = all.map(({ category, description, key, modes, name, origin, version }) => {
      return { key, version, name, description, category, origin, modes }
    })
    return yield* Console.log(JSON.stringify({ items }, undefined, 2))
  }
  const rows = all.map(({ key, origin = "", version }) => [key, String(version), origin])
  yield* print(Table.linesOf(["type", "version", "origin"], rows))
})
