/**
 * What the inspector, the list of problems and the table of nodes say.
 */
import type { Field, FieldProblem } from "../model/editing/internal/Fields.ts"

const forms: Readonly<Record<Field["kind"] | "edge" | "own", string>> = {
  text: "Text",
  number: "Number",
  boolean: "Yes or no",
  choice: "Choice",
  any: "Text or JSON",
  object: "Form",
  map: "Form",
  list: "List",
  json: "JSON",
  expression: "Expression",
  edge: "From a node",
  own: "Form",
}

const notYet: Readonly<Record<FieldProblem["reason"], string>> = {
  notNumber: "This is not a number. Write one such as 12 or 1.5.",
  notWhole: "This is not a whole number.",
  notJson: "This is not valid JSON yet.",
  nameTwice: "This name is there twice.",
  nameMissing: "This value has no name.",
}

const onErrors: Readonly<Record<"fail" | "route" | "default", string>> = {
  fail: "The node fails",
  route: "The error leaves on the output “error”",
  default: "The node puts out the values below",
}

const policyNames: Readonly<Record<"retry" | "timeout" | "onError" | "default", string>> = {
  retry: "Attempts",
  timeout: "Longest time of an attempt",
  onError: "When the last attempt fails",
  default: "Values to put out instead",
}

const policyHints: Readonly<Record<"retry" | "timeout" | "default", string>> = {
  retry:
    "How often it is tried in all, how long it waits at first and at most, and by how much each " +
    "wait is longer than the one before.",
  timeout: "Milliseconds, or a text such as 20 seconds.",
  default: "An object with a value for each output.",
}

/** The texts in English. */
export const inspectorMessages = {
  forms,
  notYet,
  onErrors,
  policyNames,
  policyHints,

  inspector: "Inspector",
  closeInspector: "Close the inspector",
  inspectNothing: "Choose a node to see and change what it does.",
  nodeName: "Name",
  nodeMode: "Mode",
  nodeVersion: "Version of its type",
  olderVersion: "There is a later version. With it the node may do something else.",
  deprecatedType: "Nodes of this type should not be added any more.",
  nodeDisabled: "Disabled: passes its input on and does nothing",
  nodeInputs: "Inputs",
  noInputs: "This node takes no inputs.",
  nodeOutputs: "Outputs",
  nodePolicy: "Attempts and failure",
  nodeCredits: (credits: number) => `Expected cost: ${credits} credits`,
  goneType: (type: string) =>
    `This server has no node type “${type}”. The node stays as it is, but a run cannot start.`,
  goneInput: "The node has no such input. Remove what is set here.",

  required: "required",
  formOf: (input: string) => `How ${input} is given`,
  attemptIn: (part: string, problem: string) => (part === "" ? problem : `${part}: ${problem}`),
  stillUsed: "A run uses the value from before.",
  unfinished: (node: string, input: string) =>
    `Node “${node}”: what is typed in “${input}” is not finished; runs use the value before`,
  notChosen: "Not set",
  yes: "Yes",
  no: "No",
  unknownChoice: (value: string) => `${value} (not one of the choices)`,
  entryName: "Name",
  entryValue: (name: string) => (name === "" ? "Value" : `Value of ${name}`),
  entry: (number: number) => `Entry ${number}`,
  addEntry: "Add an entry",
  removeEntry: (number: number) => `Remove entry ${number}`,
  removeValue: "Remove the value",
  insertName: (input: string) => `Insert a value from the run into ${input}`,
  names: "Names",
  lastValue: "In the last run:",
  expressionHint: "Write {{ to use values of other nodes.",

  fromNode: (node: string, output: string) => `From ${node}, output ${output}`,
  valueBeside: "Used if the edge brings nothing",
  unlink: (node: string, output: string) => `Unlink ${output} of ${node}`,
  unlinkShort: "Unlink",
  sourceNode: "Node",
  sourceOutput: "Output",
  chooseSource: "Choose a node",
  link: "Link",
  noSources: "No other node can lead here.",

  lastRun: "Last run",
  noLastRun: "This node has not run yet.",
  tryNode: "Try this node",
  tryHint: "Runs this node alone with the outputs that other nodes had last.",
  tryWrites: (type: string) =>
    `${type} changes something outside of the workflow. It does so now, too. Run it?`,
  tryNow: "Run it",
  tryNot: "Do not run it",
  trying: "Running",
  triedRun: "This trial",
  schemaOf: (output: string) => `Schema of ${output}`,

  problemsAndWarnings: (problems: number, warnings: number) => {
    const one = problems === 1 ? "1 problem" : `${problems} problems`
    const other = warnings === 1 ? "1 warning" : `${warnings} warnings`
    if (problems === 0 && warnings === 0) return "No problems"
    return problems === 0 ? other : warnings === 0 ? one : `${one}, ${other}`
  },
  problem: "Problem",
  warning: "Warning",
  problemList: "Problems",
  otherProblems: (count: number) => `and ${count} more`,

  nodeTable: "Nodes",
  searchNodes: "Find nodes",
  nodesFound: (count: number) => (count === 1 ? "1 node" : `${count} nodes`),
  tableRow: (label: string, type: string) => (label === type ? label : `${label}, ${type}`),
  joinCount: (ins: number, outs: number) => `${ins} in, ${outs} out`,
  tableAddTitle: "Add a node",
  chooseType: "Choose a type",
  tableAdd: "Add",
  editNode: (label: string) => `Edit ${label}`,
  edit: "Edit",
  duplicateNode: (label: string) => `Duplicate ${label}`,
  duplicateShort: "Duplicate",
  removeNode: (label: string) => `Remove ${label}`,
  removeShort: "Remove",
  tableRemoved: (label: string) => `${label} was removed.`,
  tableAdded: (label: string) => `${label} was added.`,
  joins: "Joins",
  noJoins: "No edges lead from here or to here.",
  joinTo: (output: string, node: string, input: string) => `${output} to ${node}, input ${input}`,
  joinFrom: (node: string, output: string, input: string) =>
    `${node}, output ${output}, to ${input}`,
  removeJoin: (join: string) => `Remove the edge: ${join}`,
  addJoin: "Add an edge",
  fromOutput: "From output",
  toNode: "To node",
  toInput: "To input",
  join: "Join",
} as const
