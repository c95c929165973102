/**
 * Secrets of accounts on the wire of the admin interface. A value travels in one direction only: no
 * answer has one.
 */
import { hostsPerSecret, secretBytes, secretLength } from "@millrace/core/domain/Limits"
import { Secret as Stored, SecretName } from "@millrace/core/domain/Secret"
import { Schema } from "effect"
import { Identifier } from "./Text.ts"

/** A secret without its value. */
export const Secret = Stored.annotate({ identifier: "Secret" })
export type Secret = typeof Secret.Type

/** A secret, and the workflows that name it. */
export const ListedSecret = Schema.Struct({
  ...Stored.fields,
  usedBy: Schema.Array(
    Schema.Struct({ workflowId: Schema.String, workflowName: Schema.String }),
  ).annotate({ description: "The workflows whose nodes name the secret." }),
}).annotate({ identifier: "ListedSecret" })
export type ListedSecret = typeof ListedSecret.Type

/** The secrets of an account, by name. */
export const ListedSecrets = Schema.Struct({ items: Schema.Array(ListedSecret) }).annotate({
  identifier: "ListedSecrets",
})

/** Body of setting a secret. */
export const SetSecret = Schema.Struct({
  value: Schema.String.annotate({
    description: `${secretLength} characters to ${secretBytes} bytes. No answer has it.`,
  }),
  hosts: Schema.Array(Schema.String).annotate({
    description:
      `1 to ${hostsPerSecret} hosts to which the value may be sent: api.example.com, ` +
      "*.example.com for every name below it, api.example.com:8443 for one port.",
  }),
}).annotate({ identifier: "SetSecret", closed: true })

/** Path parameters of a secret of an account. */
export const SecretParams = Schema.Struct({ id: Identifier, name: SecretName })
