/**
 * Every operation of the HTTP interfaces and its method in an engine: the page of reference is
 * compared with what there is. `npx vitest run --project millrace Operations -u` writes it anew.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { Api } from "@millrace/api/Api"
import { createEngine } from "millrace"
import { describe, expect, it } from "vitest"

/** The method of each operation; or, in parentheses, why there is none. */
const ofAccounts = {
  "workflows.list": "workflows.list",
  "workflows.create": "workflows.create",
  "workflows.get": "workflows.get",
  "workflows.update": "workflows.update",
  "workflows.remove": "workflows.remove",
  "workflows.duplicate": "workflows.duplicate",
  "workflows.addNode": "workflows.addNode",
  "workflows.validate": "workflows.validate",
  "workflows.evaluate": "workflows.evaluate",
  "workflows.signal": "workflows.signal",
  "workflows.live": "workflows.live",
  "workflows.publish": "workflows.publish",
  "workflows.unpublish": "workflows.unpublish",
  "workflows.versions": "workflows.versions",
  "workflows.version": "workflows.version",
  "workflows.restore": "workflows.restore",
  "workflows.difference": "workflows.difference",
  "triggers.list": "triggers.list",
  "triggers.create": "triggers.create",
  "triggers.get": "triggers.get",
  "triggers.update": "triggers.update",
  "triggers.readdress": "triggers.readdress",
  "triggers.beginTest": "triggers.beginTest",
  "triggers.readTest": "triggers.readTest",
  "triggers.endTest": "triggers.endTest",
  "triggers.remove": "triggers.remove",
  "triggers.paused": "triggers.paused",
  "triggers.pause": "triggers.pause",
  "triggers.resume": "triggers.resume",
  "runs.list": "runs.list",
  "runs.live": "runs.live",
  "runs.start": "runs.start",
  "runs.estimate": "runs.estimate",
  "runs.get": "runs.get",
  "runs.node": "runs.node",
  "runs.items": "runs.items",
  "runs.definition": "runs.definition",
  "runs.value": "runs.value",
  "runs.batch": "runs.batch",
  "runs.cancel": "runs.cancel",
  "runs.signal": "runs.signal",
  "runs.rerun": "runs.rerun",
  "runs.rerunFailed": "runs.rerunFailed",
  "runs.planRerun": "runs.planRerun",
  "runs.events": "runs.events",
  "approvals.list": "approvals.list",
  "approvals.get": "approvals.get",
  "approvals.decide": "approvals.decide",
  "approvals.link": "approvals.link",
  "deliveries.list": "deliveries.list",
  "deliveries.listAll": "deliveries.listAll",
  "deliveries.redeliverFailed": "deliveries.redeliverFailed",
  "deliveries.get": "deliveries.get",
  "deliveries.redeliver": "deliveries.redeliver",
  "nodeTypes.list": "nodeTypes.list",
  "usage.read": "usage.read",
}

const ofOperators = {
  "accounts.list": "accounts.list",
  "accounts.create": "accounts.create",
  "accounts.update": "accounts.update",
  "keys.list": "keys.list",
  "keys.create": "keys.create",
  "keys.update": "keys.update",
  "keys.revoke": "keys.revoke",
  "credits.show": "credits.get",
  "credits.grant": "credits.grant",
  "credits.adjust": "credits.adjust",
  "credits.meter": "credits.meter",
  "credits.statement": "credits.statement",
  "credits.csv": "(a file for people; `credits.statement` has its entries)",
  "audit.audit": "audit",
  "webhooks.list": "(of all accounts at once; `deliveries.listAll` has those of one)",
  "webhooks.get": "deliveries.get",
  "webhooks.redeliver": "deliveries.redeliver",
  "webhooks.redeliverFailed": "webhooks.redeliverFailed",
  "webhooks.secrets": "webhooks.secrets",
  "webhooks.rotate": "webhooks.rotateSecret",
  "webhooks.test": "webhooks.test",
  "secrets.list": "secrets.list",
  "secrets.set": "secrets.set",
  "secrets.remove": "secrets.remove",
  "types.list": "typesInUse",
  "quarantine.list": "quarantine.list",
  "quarantine.release": "quarantine.release",
  "quarantine.end": "quarantine.end",
  "sessions.link": "sessions.link",
  "sessions.list": "sessions.list",
  "sessions.revoke": "sessions.revoke",
}

/** Methods that no operation has. */
const beside: Readonly<Record<string, string>> = {
  "workflows.getTagged": "`workflows.get`, with the revision that HTTP sends as `ETag`",
  "workflows.updateTagged": "`workflows.update`, with the new revision",
  "workflows.restoreTagged": "`workflows.restore`, with the new revision",
  "runs.wait": "follows the run until it has ended",
  "sessions.create": "for people who have signed in: `POST /api/console/v1/sessions`",
  "sessions.revokeAll": "ends all sessions of an account",
  account: "the same methods for another account; over HTTP, the API key says whose a request is",
  workflow: "draws a workflow in code, for `workflows.create`",
  fetch: "answers requests of the HTTP interface",
  status: "as `GET /readyz`, with more",
  drain: "finishes what is in progress; a server does it when it is told to stop",
  close: "stops the engine",
}

interface Endpoint {
  readonly method: string
  readonly path: string
}

type Groups = Readonly<Record<string, { readonly endpoints: Readonly<Record<string, Endpoint>> }>>

interface Operation extends Endpoint {
  readonly name: string
}

const operationsOf = (groups: Groups): ReadonlyArray<Operation> =>
  Object.entries(groups).flatMap(([group, { endpoints }]) =>
    Object.entries(endpoints).map(([name, { method, path }]) => ({
      name: `${group}.${name}`,
      method,
      path,
    })),
  )

const operations = operationsOf(Api.groups)
const admin = operationsOf(AdminApi.groups)

const methodOf = (text: string | undefined): string =>
  text === undefined || text.startsWith("(") ? (text ?? "").slice(1, -1) : `\`engine.${text}\``

const rowsOf = (all: ReadonlyArray<Operation>, table: Readonly<Record<string, string>>): string =>
  all
    .map(({ method, name, path }) => `| \`${method} ${path}\` | ${methodOf(table[name])} |`)
    .join("\n")

const page = `# Every HTTP operation and its method in an engine

A test of the package \`millrace\` compares this page with the interfaces, so that none is missing.

## Of an account

\`engine\` stands for its own account, and \`engine.account(id)\` has the same methods for another
one. \`createClient\` has them over HTTP.

| Operation | Method |
| --- | --- |
${rowsOf(operations, ofAccounts)}

## Of operators

An engine's owner needs no admin token. \`accounts\`, \`audit\`, \`quarantine\` and
\`typesInUse\` are for the whole store; the others are for one account, as above.

| Operation | Method |
| --- | --- |
${rowsOf(admin, ofOperators)}

## Methods that no operation has

| Method | What it does |
| --- | --- |
${Object.entries(beside)
  .map(([name, text]) => `| \`engine.${name}\` | ${text} |`)
  .join("\n")}
`

/** The names of an object's functions, and of those in its objects. */
const functionsOf = (of: object): ReadonlyArray<string> =>
  Object.entries(of).flatMap(([name, value]) => {
    if (typeof value === "function") return [name]
    if (typeof value !== "object" || value === null) return []
    return functionsOf(value).map((each) => `${name}.${each}`)
  })

describe("Every operation of the HTTP interfaces", () => {
  it("is in the table, and nothing else is", () => {
    const names = (all: ReadonlyArray<Operation>) => all.map(({ name }) => name).toSorted()
    expect(names(operations)).toEqual(Object.keys(ofAccounts).toSorted())
    expect(names(admin)).toEqual(Object.keys(ofOperators).toSorted())
  })

  it("has a method of the engine or a reason, and each method an operation or a use", async () => {
    await using engine = await createEngine()
    const methods = [...Object.values(ofAccounts), ...Object.values(ofOperators)]
    const named = new Set([
      ...methods.filter((text) => !text.startsWith("(")),
      ...Object.keys(beside),
    ])
    expect([...named].toSorted()).toEqual([...functionsOf(engine)].toSorted())
  })

  it("is on the page of reference", async () => {
    await expect(page).toMatchFileSnapshot("../../../docs/reference/operations.md")
  })
})
