/**
 * How an HTTP request says who asks: with a token, with a name and a password, or with a header.
 *
 * Guarantees: what is accepted makes one header. Leaves out: whether the server accepts it.
 */
import { isJsonObject } from "@millrace/core/domain/Json"
import { problemOfHeaders } from "@millrace/egress/Headers"
import * as Base64 from "effect/encoding/Base64"
import type { Issue } from "./Checked.ts"
import { checked, issue, oneOf, unknownKeys } from "./Checked.ts"

/** Who asks. */
export type Auth =
  | { readonly type: "bearer"; readonly token: string }
  | { readonly type: "basic"; readonly username: string; readonly password: string }
  | { readonly type: "header"; readonly name: string; readonly value: string }

/** The texts of each type. */
const texts: { readonly [type: string]: ReadonlyArray<string> } = {
  bearer: ["token"],
  basic: ["username", "password"],
  header: ["name", "value"],
}

const problemsOfText = (name: string, value: unknown): ReadonlyArray<Issue> => {
  const refuse = (why: string) => [{ path: [name], issue: why }]
  if (typeof value !== "string") return refuse("expected a text")
  // A password may be empty.
  if (value === "" && name !== "password") return refuse("expected a text that is not empty")
  if (name === "username" && value.includes(":")) return refuse("a user name has no colon")
  const problem = name === "name" ? problemOfHeaders({ [value]: "" }) : undefined
  return problem === undefined ? [] : refuse(problem)
}

const problemsOfAuth = (auth: unknown): ReadonlyArray<Issue> => {
  if (!isJsonObject(auth)) return issue("expected an object with a type")
  const { type } = auth
  const known = typeof type === "string" && Object.hasOwn(texts, type) ? texts[type]! : undefined
  if (known === undefined) {
    return [{ path: ["type"], issue: `expected ${oneOf(Object.keys(texts))}` }]
  }
  return [
    ...known.flatMap((name) => problemsOfText(name, auth[name])),
    ...unknownKeys(auth, ["type", ...known]),
  ]
}

const text = { type: "string" }

const formOf = (type: string) => ({
  type: "object",
  required: ["type", ...texts[type]!],
  properties: {
    type: { const: type },
    ...Object.fromEntries(texts[type]!.map((name) => [name, text])),
  },
  additionalProperties: false,
})

/** The schema of an `auth` input. */
export const AuthInput = checked<Auth>(problemsOfAuth, {
  description:
    "Who asks: { type: bearer, token }, { type: basic, username, password } or " +
    "{ type: header, name, value }. Take tokens and passwords from secrets.",
  jsonSchema: { oneOf: Object.keys(texts).map(formOf) },
})

/** The header that says who asks. */
export const headerOf = (auth: Auth): readonly [name: string, value: string] => {
  switch (auth.type) {
    case "bearer":
      return ["authorization", `Bearer ${auth.token}`]
    case "basic":
      return ["authorization", `Basic ${Base64.encode(`${auth.username}:${auth.password}`)}`]
    case "header":
      return [auth.name, auth.value]
  }
}
