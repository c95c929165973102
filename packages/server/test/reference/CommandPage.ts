/**
 * The page of the command line: every command with its arguments, flags and examples, from its own
 * help.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import type { HelpDoc } from "effect/cli/HelpDoc"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { command } from "../../src/internal/command/CommandLine.ts"
import { pageOf, table } from "./Table.ts"

const help = (path: ReadonlyArray<string>): Effect.Effect<HelpDoc | undefined> =>
  Effect.gen(function* () {
    let found: HelpDoc | undefined
    const presenter = CliOutput.layerPresenter({
      present: (event) =>
        Effect.sync(() => {
          if (event._tag === "Help") found = event.helpDoc
        }),
    })
    const run = Command.runWith(command, { version: "" })([...path, "--help"])
    yield* run.pipe(Effect.provide([presenter, NodeServices.layer]), Effect.ignore)
    return found
  })

const nameOf = (name: string, type: string): string =>
  type === "boolean" ? `\`--${name}\`` : `\`--${name} <${type}>\``

const said = (text: Option.Option<string> | string | undefined): string =>
  typeof text === "string" || text === undefined ? (text ?? "") : Option.getOrElse(text, () => "")

const sectionOf = (path: ReadonlyArray<string>, doc: HelpDoc): ReadonlyArray<string> => {
  // What follows the first paragraph lists the limits, which have a page of their own.
  const [first = ""] = doc.description.split("\n\n")
  const flags = [
    ...(doc.args ?? []).map(({ description, name }) => [`\`<${name}>\``, said(description)]),
    ...doc.flags.map(({ description, name, type }) => [nameOf(name, type), said(description)]),
  ]
  if (first === "" && flags.length === 0) return []
  return [
    `## ${["millrace", ...path].join(" ")}`,
    ...(first === "" ? [] : [first]),
    ...(flags.length === 0 ? [] : [table(["", "What it is"], flags)]),
    ...((doc.examples ?? []).length === 0
      ? []
      : [
          table(
            ["Example", "What it does"],
            (doc.examples ?? []).map((each) => [`\`${each.command}\``, said(each.description)]),
          ),
        ]),
  ]
}

const sectionsBelow = (path: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const doc = yield* help(path)
    if (doc === undefined) throw new Error(`CommandPage: ${path.join(" ")} has no help`)
    const names = (doc.subcommands ?? []).flatMap(({ commands }) =>
      commands.map(({ name }) => name),
    )
    const below = yield* Effect.forEach(names, (name) => sectionsBelow([...path, name]))
    return [...(path.length === 0 ? [] : sectionOf(path, doc)), ...below.flat()]
  })

/** The page. */
export const commandPage = async () =>
  pageOf(
    "command",
    "The command line",
    "`millrace <command> --help` shows the same. [The server's " +
      "page](../../packages/server/README.md) says " +
      "how the commands behave, and [Settings](settings.md) has their variables.",
    ...(await Effect.runPromise(sectionsBelow([]))),
  )
