/**
 * What each operation of the console needs: the least role, and how it looks to a session that sees
 * only some workflows. One table; the compiler and a test compare it with the interface.
 */
import type { Role } from "@millrace/core/domain/Session"
import type { ConsoleGroupName, ConsoleNames } from "./Operation.ts"

/**
 * How a session that sees only some workflows may use an operation. `any`: nothing of a workflow
 * is in it. `none`: not at all. `workflow`, `run`, `delivery`: if the thing in the path belongs to
 * one of them. `filter`: the operation leaves out the others. `start`: if the workflow in the body
 * is one of them. `evaluate`: if workflow and run are.
 */
export type Reach =
  | "any"
  | "none"
  | "workflow"
  | "run"
  | "delivery"
  | "filter"
  | "start"
  | "evaluate"

/** What an operation needs. */
export interface Rule {
  /** The least role; `null`: no session. */
  readonly role: Role | null
  readonly reach: Reach
  /** The operation as a gerund, for the sentence that refuses it. */
  readonly does: string
}

const rule = (role: Role | null, reach: Reach, does: string): Rule => ({ role, reach, does })

/** The rules of operations on what an account draws and runs. */
const ofAccount = {
  workflows: {
    list: rule("viewer", "filter", "Listing workflows"),
    create: rule("editor", "none", "Making a workflow"),
    get: rule("viewer", "workflow", "Reading a workflow"),
    update: rule("editor", "workflow", "Changing a workflow"),
    remove: rule("editor", "workflow", "Deleting a workflow"),
    duplicate: rule("editor", "none", "Duplicating a workflow"),
    addNode: rule("editor", "workflow", "Changing a workflow"),
    validate: rule("viewer", "workflow", "Validating a workflow"),
    evaluate: rule("editor", "evaluate", "Computing an expression"),
    signal: rule("editor", "workflow", "Sending a signal to a workflow"),
    live: rule("viewer", "workflow", "Watching a workflow"),
    publish: rule("editor", "workflow", "Publishing a workflow"),
    unpublish: rule("editor", "workflow", "Unpublishing a workflow"),
    versions: rule("viewer", "workflow", "Listing versions"),
    version: rule("viewer", "workflow", "Reading a version"),
    restore: rule("editor", "workflow", "Changing a workflow"),
    difference: rule("viewer", "workflow", "Comparing versions"),
  },
  triggers: {
    list: rule("viewer", "workflow", "Listing triggers"),
    create: rule("editor", "workflow", "Making a trigger"),
    get: rule("viewer", "workflow", "Reading a trigger"),
    update: rule("editor", "workflow", "Changing a trigger"),
    readdress: rule("editor", "workflow", "Giving a webhook a new address"),
    beginTest: rule("editor", "workflow", "Making a test address of a webhook"),
    readTest: rule("editor", "workflow", "Reading what arrived at a test address"),
    endTest: rule("editor", "workflow", "Taking a test address away"),
    remove: rule("editor", "workflow", "Removing a trigger"),
    paused: rule("viewer", "any", "Reading whether triggers are paused"),
    pause: rule("editor", "none", "Pausing all triggers"),
    resume: rule("editor", "none", "Resuming all triggers"),
  },
  runs: {
    list: rule("viewer", "filter", "Listing runs"),
    live: rule("viewer", "filter", "Watching runs"),
    start: rule("editor", "start", "Starting a run"),
    estimate: rule("editor", "start", "Estimating a run"),
    batch: rule("viewer", "filter", "Reading runs"),
    get: rule("viewer", "run", "Reading a run"),
    node: rule("viewer", "run", "Reading a run"),
    items: rule("viewer", "run", "Reading a run"),
    definition: rule("viewer", "run", "Reading a run"),
    value: rule("viewer", "run", "Reading a run"),
    events: rule("viewer", "run", "Following a run"),
    cancel: rule("editor", "run", "Canceling a run"),
    signal: rule("editor", "run", "Sending a signal to a run"),
    rerun: rule("editor", "run", "Starting a run"),
    rerunFailed: rule("editor", "filter", "Starting runs"),
    planRerun: rule("editor", "run", "Planning a rerun"),
  },
  approvals: {
    list: rule("viewer", "filter", "Listing approvals"),
    get: rule("viewer", "run", "Reading an approval"),
    // The approval itself says which roles it asks.
    decide: rule("viewer", "run", "Deciding an approval"),
    link: rule("owner", "none", "Making a link of an approval"),
  },
  deliveries: {
    list: rule("viewer", "run", "Listing deliveries"),
    listAll: rule("viewer", "filter", "Listing deliveries"),
    redeliverFailed: rule("editor", "filter", "Sending failed deliveries again"),
    get: rule("viewer", "delivery", "Reading a delivery"),
    redeliver: rule("editor", "delivery", "Sending a delivery again"),
  },
  nodeTypes: { list: rule("viewer", "any", "Listing node types") },
  usage: { read: rule("viewer", "filter", "Reading usage") },
} as const

/** The rules of operations that only the console has. */
const ofConsole = {
  keys: {
    list: rule("owner", "none", "Listing keys"),
    create: rule("owner", "none", "Making a key"),
    update: rule("owner", "none", "Changing a key"),
    revoke: rule("owner", "none", "Revoking a key"),
  },
  secrets: {
    list: rule("owner", "none", "Listing secrets"),
    put: rule("owner", "none", "Setting a secret"),
    remove: rule("owner", "none", "Removing a secret"),
  },
  testEvents: { send: rule("editor", "none", "Sending a test event") },
  sessions: {
    list: rule("owner", "none", "Listing sessions"),
    create: rule("owner", "none", "Making a session"),
    revoke: rule("owner", "none", "Ending a session"),
  },
} as const

const operators = (does: string) => rule("operator", "none", does)

const ofOperators = {
  accounts: {
    list: operators("Listing accounts"),
    create: operators("Making an account"),
    update: operators("Changing an account"),
  },
  credits: {
    show: operators("Reading credits"),
    grant: operators("Granting credits"),
    adjust: operators("Adjusting credits"),
    meter: operators("Metering an account"),
    statement: operators("Reading a statement"),
    csv: operators("Reading a statement"),
  },
  audit: { audit: operators("Auditing the ledger") },
  webhooks: {
    list: operators("Listing deliveries of all accounts"),
    get: operators("Reading a delivery of any account"),
    redeliver: operators("Sending a delivery of any account again"),
    redeliverFailed: operators("Sending failed deliveries again"),
    secrets: operators("Reading signing secrets"),
    rotate: operators("Rotating signing secrets"),
    test: operators("Sending a test event"),
  },
  types: { list: operators("Listing node types in use") },
  quarantine: {
    list: operators("Listing runs in quarantine"),
    release: operators("Releasing a run"),
    end: operators("Ending a run"),
  },
} as const

/** The rule of every operation, by group and name. */
export const rules: {
  readonly [G in ConsoleGroupName]: { readonly [N in ConsoleNames<G>]: Rule }
} = {
  ...ofAccount,
  ...ofConsole,
  ...ofOperators,
  session: {
    get: rule("viewer", "any", "Reading the session"),
    signOut: rule("viewer", "any", "Signing out"),
    find: rule(null, "any", "Asking who is signed in"),
    signIn: rule(null, "any", "Signing in"),
  },
}

/** The groups whose operations belong to no account. */
export const withoutAccount: ReadonlySet<string> = new Set(["session", ...Object.keys(ofOperators)])

/** The rule of an operation. Every route has one. */
export const ruleOf = (group: string, name: string): Rule =>
  (rules as Readonly<Record<string, Readonly<Record<string, Rule>>>>)[group]![name]!
