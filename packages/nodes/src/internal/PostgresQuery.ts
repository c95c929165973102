/**
 * The postgres_query node: sends one statement to a Postgres database. Its output is the rows.
 *
 * Guarantees: the connection goes through the egress guard, over TLS whose certificate is verified,
 * and to no database of Millrace. Values reach the statement as parameters only. Unless its mode is
 * `write`, the statement runs in a transaction that only reads. Leaves out: what functions of the
 * database do outside of its transaction; the rights of its user decide that.
 */
import { Json, JsonObject } from "@millrace/core/domain/Json"
import {
  databaseNameLength,
  parametersPerQuery,
  rowsPerQuery,
  secretBytes,
  statementLength,
} from "@millrace/core/domain/Limits"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Egress } from "@millrace/egress/Egress"
import { Effect, Schema } from "effect"
import { ofEgress } from "./EgressError.ts"
import { CertificatesInput, HostInput, PortInput, TimeoutInput } from "./Endpoint.ts"
import { execute } from "./postgres/PostgresSession.ts"
import { problemOfStatement } from "./postgres/Statement.ts"

/** A text of the protocol, which ends texts with NUL. */
const text = (most: number, description: string) =>
  Schema.String.annotate({ description }).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(most),
    Schema.makeFilter((value: string) => !value.includes("\0") || "expected text without NUL"),
  )

const inputs = {
  host: HostInput,
  port: Schema.optionalKey(PortInput.annotate({ description: "Its port.", default: 5432 })),
  database: text(databaseNameLength, "The name of the database."),
  user: text(databaseNameLength, "Who signs in. Give it no more rights than it needs."),
  password: Schema.optionalKey(text(secretBytes, "The password; it may name a secret.")),
  tls: Schema.optionalKey(
    Schema.Literals(["verify", "off"]).annotate({
      description:
        "verify: over TLS, and the server's certificate has to be good for its host. off: " +
        "without TLS, only in networks that the operator allows.",
      default: "verify",
    }),
  ),
  certificates: Schema.optionalKey(CertificatesInput),
  statement: text(
    statementLength,
    "One SQL statement, with $1, $2 for parameters. No expression is computed in it.",
  ),
  parameters: Schema.optionalKey(
    Schema.Array(Json)
      .check(Schema.isMaxLength(parametersPerQuery))
      .annotate({ description: "The values of $1, $2 and so on.", default: [] }),
  ),
  maxRows: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: rowsPerQuery })).annotate({
      description: "How many rows there may be; more fail the node.",
      default: 1_000,
    }),
  ),
  timeoutSeconds: Schema.optionalKey(TimeoutInput),
}

type Inputs = Schema.Struct<typeof inputs>["Type"]

const modes = ["read", "write"] as const

const query = Effect.fnUntraced(function* (given: Inputs, mayWrite: boolean) {
  const { certificates: ca, database, host, maxRows = 1_000, parameters = [] } = given
  const { password = "", port = 5432, statement, timeoutSeconds = 30, tls = "verify", user } = given
  const problem = problemOfStatement(statement, mayWrite)
  if (problem !== undefined) return yield* new NodeError({ message: problem, retryable: false })
  const { accountId: account } = yield* CurrentNode
  const egress = yield* Egress
  const timeoutMillis = timeoutSeconds * 1_000
  const isSecure = tls === "verify"
  const leaving = [database, user, password, statement, JSON.stringify(parameters)]
  const call = {
    protocol: "postgres:",
    host,
    port,
    isSecure,
    account,
    timeoutMillis,
    leaving,
  } as const
  const signIn = { user, password, database, tls: isSecure ? { ca } : null }
  const request = { text: statement, parameters, maxRows, mayWrite, timeoutMillis }
  return yield* egress
    .socket(call, (socket) => execute(socket, signIn, request))
    .pipe(
      Effect.catchTag(["EgressRefused", "EgressFailed"], (error) => Effect.fail(ofEgress(error))),
    )
})

/** `postgres_query`: one statement, with parameters, in a transaction of its own. */
export const postgresQuery = define({
  key: "postgres_query",
  effects: "writes",
  name: "Postgres query",
  description:
    "Sends one SQL statement to a Postgres database and puts out its rows. In the mode read its " +
    "transaction cannot write; in the mode write it is committed. int8 and numeric are texts, " +
    "json is a value, times are ISO 8601 in UTC, bytea is base64.",
  category: "network",
  icon: "database",
  modes,
  inputs,
  // Values reach a statement as parameters only.
  raw: {
    statement: (literal) => {
      const problem = typeof literal === "string" ? problemOfStatement(literal, true) : undefined
      return problem === undefined ? [] : [problem]
    },
  },
  problemsOfInputs: ({ mode, values: { statement } }) => {
    const isMeant =
      typeof statement === "string" && problemOfStatement(statement, true) === undefined
    const problem = isMeant ? problemOfStatement(statement, mode === "write") : undefined
    return problem === undefined ? [] : [["statement", problem]]
  },
  secrets: ["user", "password"],
  outputs: {
    rows: Schema.Array(JsonObject).annotate({
      description: "The rows, each an object by the names of its columns.",
    }),
    count: Schema.NullOr(Schema.Int).annotate({
      description: "How many rows the statement gave or changed; null if that is not told.",
    }),
  },
  example: {
    inputs: {
      host: "db.example.com",
      database: "shop",
      user: "reports",
      password: "{{ secrets.shop_database }}",
      statement: "SELECT id, total FROM orders WHERE day = $1",
      parameters: ["2026-01-31"],
    },
    outputs: { rows: [{ id: 1, total: "12.50" }], count: 1 },
  },
  run: (given, mode) => query(given, mode === "write"),
})
