/**
 * The words of the project: every word of an exported name is one that a stranger knows, from
 * English, TypeScript, Effect or the glossary, and words that strangers stumbled over do not come
 * back.
 *
 * Reads names as text. Leaves out: what prose says; people read that.
 */
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { describe, expect, it } from "vitest"
import { everything, offences, root, sources } from "./Sources.ts"
import { known } from "./Vocabulary.ts"

const glossary = readFileSync(join(root, "docs", "glossary.md"), "utf8")

/** The words that the glossary explains, in singular and in lower case. */
const explained = [...glossary.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, words]) =>
  words!.toLowerCase().split(/[\s,-]+/),
)

/** What strangers stumbled over: a metaphor, or a word that means something else elsewhere. */
const retired = new Set(
  `abandon astray barred birth births born cargo calm census circumstances courier deed deeds
  demand demands desk door dueNow envelope errand havoc hurried leftover leftovers luck mailbox
  manner mover nowhere nudge paint poke purse purses scandal scandals seize seized stray strays
  trail twin twins unborn verdict verdicts workshop wreak wronged`.split(/\s+/),
)

const wordsOf = (name: string): ReadonlyArray<string> =>
  name
    .split(/[_$.-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((word) => word.toLowerCase())
    .filter((word) => word !== "")

/** Forms of a word that mean the same word. */
const stemsOf = (word: string): ReadonlyArray<string> => [
  word,
  word.replace(/ies$/, "y"),
  word.replace(/s$/, ""),
  word.replace(/es$/, ""),
  word.replace(/e?d$/, ""),
  word.replace(/d$/, ""),
  word.replace(/ing$/, ""),
  word.replace(/ing$/, "e"),
  word.replace(/(.)\1(ed|ing)$/, "$1"),
]

const nameOfFile = (path: string): string => basename(path).replace(/(?:\.d)?\.tsx?$/, "")

const published = sources.filter(
  ({ path }) => !/^packages\/(?:conformance|simulation)\//.test(path),
)

const exported = published.flatMap(({ code, path }) =>
  Array.from(
    code.matchAll(/^export (?:abstract )?(?:const|class|interface|type|function) (\w+)/gm),
    ([, name]) => ({ path, name: name! }),
  ),
)

/** Names of files that stand in several packages, and the one thing that each of them means. */
const shared: { readonly [name: string]: string } = {
  AdminAuthorization: "What an operator's request needs: declared in api, checked in http.",
  Authorization: "What a request with an API key needs: declared in api, checked in http.",
  Client: "A client of a server elsewhere: for Effect in api, for promises in millrace.",
  Dashboard: "The dashboard: sent in http, an option of an engine in millrace.",
  Deliveries: "The deliveries of runs, as a store keeps them.",
  Engine: "The engine put together: for Effect in core, for promises in millrace.",
  IdempotencyKeys: "The idempotency keys of starts, as a store keeps them.",
  Inboxes: "The inboxes of runs, as a store keeps them.",
  KeyChanges: "Which concurrency keys may have to be given, as a store notes it.",
  KeyStore: "The port of accounts and API keys, and each store's own of it.",
  LedgerStore: "The port of credits, and each store's own of it.",
  MasterKey: "The master key: read in webhooks, found in host, configured in server.",
  NodeVersions:
    "Versions of node types: which ones a run has in core, of which type a node is in react.",
  Quarantine: "The quarantine of runs: what operators do in core, what is stored in postgres.",
  Request: "The request node: its fields and values in core, its type in nodes.",
  RunActivity: "What has become of the runs of workflows lately, as a store reads it.",
  RunClaims: "Claims, takeovers and leases, as a store performs them.",
  RunCommits: "Commits of runs, as a store performs them.",
  RunRecords: "How a store reads runs.",
  RunStore: "The port of runs, and each store's own of it.",
  RunView: "A run as a viewer sees it: in a terminal in server, in a browser in react.",
  Secret: "Secrets of accounts: as they are kept in core, as an engine takes them in millrace.",
  SecretStore: "The port of secrets, and each store's own of it.",
  SessionStore: "The port of sessions, and each store's own of it.",
  Signals: "Signals to workflows: sent in core, and as a store keeps them.",
  SigningSecrets: "The signing secrets of accounts, as a store keeps them.",
  Stores: "All stores of a package, as layers.",
  TriggerPauses: "The pauses of triggers, as a store keeps them.",
  TriggerStore: "The port of triggers, and each store's own of it.",
  TypesInUse: "Node types in use: what operators see in core, how a store counts them.",
  Usage: "What an account's runs have cost: summed up in core, read in postgres.",
  ValueStore: "The port of large values, and each store's own of it.",
  Wakeups: "The port that tells other processes of a run, and Postgres's own of it.",
  Webhook: "Webhooks of runs: as they are kept in core, as an engine takes them in millrace.",
  WebhookStore: "The port of deliveries, and each store's own of it.",
  WebhookTests: "The tests of inbound webhooks: making them, and how a store keeps them.",
  WorkflowStore: "The port of workflows, and each store's own of it.",
  WorkflowVersions: "The published versions of workflows, as a store keeps them.",
}

/**
 * The form in which a file has a thing: as the engine knows it, as the wire carries it, or as the
 * promise interface gives it. Any other file is a form of its own.
 */
const formOf = (path: string): string => {
  if (/^packages\/(?:core|host)\//.test(path)) return "engine"
  if (/\/(?:Promise|Console)Client\.ts$/.test(path) || path.startsWith("packages/millrace/"))
    return "promise"
  return path.startsWith("packages/api/") ? "wire" : path
}

describe("Words", () => {
  it("of exported names and of files are in the vocabulary or the glossary", () => {
    const words = new Set([...known, ...explained])
    const isKnown = (word: string) =>
      /^[a-z]?\d*$/.test(word) || stemsOf(word).some((stem) => words.has(stem))
    const files = published.map(({ path }) => ({ path, name: nameOfFile(path) }))
    const unknown = [...exported, ...files].flatMap(({ name, path }) =>
      wordsOf(name)
        .filter((word) => !isKnown(word))
        .map((word) => `${path}: "${word}" in ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it("of a file that are in several packages mean one thing there", () => {
    const names = published.map(({ path }) => nameOfFile(path)).filter((name) => name !== "index")
    const repeated = names.filter((name, at) => names.indexOf(name) !== at)
    expect([...new Set(repeated)].toSorted()).toEqual(Object.keys(shared))
    const placed = published.map(({ path }) => `${path.split("/")[1]} ${basename(path)}`)
    expect(placed.filter((place, at) => placed.indexOf(place) !== at)).toEqual([])
  })

  it("of a public type mean one thing, once in each form that it has", () => {
    const types = exported.filter(({ name, path }) => /^[A-Z]/.test(name) && !/internal/.test(path))
    const files = Map.groupBy(
      new Set(types.map(({ name, path }) => `${name} ${path}`)),
      (each) => each.split(" ")[0]!,
    )
    const unclear = [...files.values()].filter((places) => {
      const forms = places.map((each) => formOf(each.split(" ")[1]!))
      const isForm = forms.every((form) => ["engine", "wire", "promise"].includes(form))
      return places.length > 1 && (!isForm || new Set(forms).size < forms.length)
    })
    expect(unclear).toEqual([])
  })

  it("that strangers stumbled over are in no name of a file and no exported name", () => {
    const files = everything.map(({ path }) => ({ path, name: basename(path).split(".")[0]! }))
    const found = [...exported, ...files].filter(({ name }) =>
      wordsOf(name).some((word) => retired.has(word)),
    )
    expect(found).toEqual([])
  })

  it("that strangers stumbled over are in no message", () => {
    const texts = /"[^"\n]* [^"\n]*"|`[^`\n]* [^`\n]*`/g
    const found = offences(published, texts, (text) => text).filter((each) =>
      each.split(/[^A-Za-z]+/).some((word) => retired.has(word.toLowerCase())),
    )
    expect(found).toEqual([])
  })

  it("of the glossary are sixty at most, each in a sentence", () => {
    const rows = [...glossary.matchAll(/^\| (?!Word|-)([^|]+) \| ([^|]+) \|$/gm)]
    expect(rows.length).toBeGreaterThan(40)
    expect(rows.length).toBeLessThanOrEqual(60)
    expect(rows.filter(([, , meaning]) => !/^[A-Z].*\.$/.test(meaning!.trim()))).toEqual([])
  })
})
