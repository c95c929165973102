/**
 * The parse node: makes values of a text in JSON, CSV or XML.
 *
 * Guarantees: see `JsonText`, `CsvText` and `XmlText`. A text that is none fails the node with one
 * sentence that names the line.
 */
import { Json } from "@millrace/core/domain/Json"
import { arraysPerXml, parsedLength, xmlLength } from "@millrace/core/domain/Limits"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Schema } from "effect"
import { readCsv } from "./CsvText.ts"
import { readJson } from "./JsonText.ts"
import type { Job } from "@millrace/core/domain/Work"
import { operationsOf } from "@millrace/core/domain/Work"
import { carriedOut } from "./ComputePermit.ts"
import { readXml } from "./XmlText.ts"

const modes = ["json", "csv", "xml"] as const

/** The options of each mode; other modes do without. */
const options: { readonly [mode: string]: ReadonlyArray<string> } = {
  csv: ["header", "delimiter"],
  xml: ["arrays"],
}

interface Inputs {
  readonly input: string
  readonly header?: boolean
  readonly delimiter?: string
  readonly arrays?: ReadonlyArray<string>
}

const isDelimiter = (text: string) => text.length === 1 && !/["\r\n]/.test(text)

const problemOf = (given: Inputs, mode: string): string | undefined => {
  const most = mode === "xml" ? xmlLength : parsedLength
  const { length } = given.input
  if (length > most) return `the text has ${length} characters; at most ${most} can be parsed`
  const foreign = Object.entries(options).find(
    ([other, names]) => other !== mode && names.some((name) => Object.hasOwn(given, name)),
  )
  return foreign && `${foreign[1].join(", ")}: only mode ${foreign[0]} has that`
}

/** `parse`: reads a text. */
export const parse = define({
  key: "parse",
  effects: "none",
  name: "Parse",
  description: "Makes values of a text: JSON, CSV or XML.",
  category: "data",
  icon: "file-text",
  modes,
  inputs: {
    input: Schema.String.annotate({ description: "The text." }),
    header: Schema.optionalKey(
      Schema.Boolean.annotate({
        description: "CSV: the first row names the columns, and rows are records.",
        default: true,
      }),
    ),
    delimiter: Schema.optionalKey(
      Schema.String.annotate({
        description: "CSV: what stands between two fields.",
        default: ",",
      }).check(Schema.makeFilter((text: string) => isDelimiter(text) || "expected one character")),
    ),
    arrays: Schema.optionalKey(
      Schema.Array(Schema.String)
        .check(Schema.isMaxLength(arraysPerXml))
        .annotate({ description: "XML: names of elements that are arrays, also single ones." }),
    ),
  },
  outputs: { output: Json.annotate({ description: "The value, the rows, or the root element." }) },
  example: {
    inputs: { input: "id;city\n1;Bern\n2;Basel\n", delimiter: ";" },
    mode: "csv",
    outputs: {
      output: [
        { id: "1", city: "Bern" },
        { id: "2", city: "Basel" },
      ],
    },
  },
  run: (given, mode) =>
    carriedOut(function* (work): Job<{ readonly output: Json }> {
      const problem = problemOf(given, mode)
      if (problem !== undefined) throw new Error(problem)
      const { arrays = [], delimiter = ",", header = true, input } = given
      const text = input.startsWith("\ufeff") ? input.slice(1) : input
      if (mode === "csv") return { output: yield* readCsv(text, { header, delimiter }, work) }
      // The one slice that it takes comes in turn.
      if (work.spend(operationsOf(text))) yield
      return { output: mode === "json" ? readJson(text) : readXml(text, arrays) }
    }),
})
