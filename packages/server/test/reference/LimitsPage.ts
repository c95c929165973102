/**
 * The page of all bounds: those that an operator or embedder may change, and the fixed ones.
 */
import { limitNames, limits } from "@millrace/core/domain/Limits"
import { limitVariables } from "../../src/internal/config/LimitVariables.ts"
import { pageOf, plainComment, sourceText, table } from "./Table.ts"

const shown = (value: number): string =>
  Number.isFinite(value) ? value.toLocaleString("en") : "none"

const adjustable = limitNames.map((name) => [
  `\`${name}\``,
  `\`${limitVariables[name].name}\``,
  shown(limits[name].usual),
  limits[name].meaning,
])

const fixedIn = (path: string): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from(
    sourceText(path).matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\nexport const (\w+) = ([\d_]+)\n/g),
    ([, comment = "", name = "", value = ""]) => [
      `\`${name}\``,
      shown(Number(value.replaceAll("_", ""))),
      plainComment(comment),
    ],
  )

/** The page. */
export const limitsPage = () =>
  pageOf(
    "limits",
    "Limits",
    "Everything is bounded. What goes beyond a bound is refused in a sentence that names it.",
    "## Limits that you may change",
    "`createEngine({ limits: { nodesAtOnce: 20 } })` sets the first name, and the variable " +
      "does it for a " +
      "server. `none` means no limit.",
    table(["Name", "Variable", "Default", "What it bounds"], adjustable),
    "## Fixed limits",
    table(
      ["Name in the code", "Value", "What it bounds"],
      [
        ...fixedIn("packages/core/src/domain/Limits.ts"),
        ...fixedIn("packages/core/src/domain/internal/ListingLimits.ts"),
        ...fixedIn("packages/core/src/domain/internal/NodeLimits.ts"),
      ],
    ),
  )
