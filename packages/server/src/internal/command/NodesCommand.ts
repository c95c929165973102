/**
 * `millrace nodes` on the command line. The work is loaded when a command runs.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import { resolveAll } from "../../Config.ts"
import { nodeVariables } from "../config/Variables.ts"
import { commandsOf } from "./AdminCommand.ts"
import { describe } from "./Description.ts"
import * as Flags from "./Flags.ts"

const tasks = Effect.promise(() => import("../nodes/NodesTasks.ts"))

const create = Command.make(
  "new",
  {
    name: Argument.String("name").pipe(
      Argument.withDescription("The key of the type, such as text.shout"),
    ),
    folder: Flags.text("folder", "folder", "Where the files go, made if missing").pipe(
      Flag.withDefault("nodes"),
    ),
  },
  Effect.fnUntraced(function* (wanted) {
    yield* (yield* tasks).create(wanted)
  }),
).pipe(
  describe({
    short: "Write a node type of your own, with its test",
    long:
      "Write a node type of your own, with its test, and export it from the index file of the " +
      "folder. A file that is there is never written over.",
    examples: { "millrace nodes new text.shout": "In the folder nodes" },
  }),
)

const list = Command.make(
  "list",
  {
    ...Flags.ofVariables(nodeVariables),
    json: Flags.isTyped("json", "Print JSON"),
  },
  Effect.fnUntraced(function* ({ json, nodes }) {
    const settings = yield* resolveAll({ nodes }, nodeVariables, { nodes: [] })
    yield* (yield* tasks).list(settings.nodes, json)
  }),
).pipe(
  describe({
    short: "Show the node types that a server would have",
    long: "Import the modules and show their node types beside the built-in ones.",
    examples: { "millrace nodes list --nodes ./nodes/index.js": "With those of a module" },
  }),
)

const usage = commandsOf(() => import("../admin/NodeTypeTasks.ts"))(
  "usage",
  {
    short: "Show which versions of node types are in use",
    long:
      "Show every version of a node type that a server has, or that is in use in any account: by " +
      "how many workflows as they are drawn, how many published versions of workflows, and how " +
      "many open runs. A version that nothing uses can be taken away. Only reruns of ended runs " +
      "may need it. The store reads every drawing for this.",
    examples: {
      "millrace nodes usage --url http://localhost:3000": "Of a running server",
      "millrace nodes usage --json": "With the accounts of workflows",
    },
  },
  {},
  (work, session) => work.usage(session),
)

/** The command with its subcommands. */
export const nodes = Command.make("nodes").pipe(
  describe({ short: "Write and show node types of your own" }),
  Command.withSubcommands([create, list, usage]),
)
