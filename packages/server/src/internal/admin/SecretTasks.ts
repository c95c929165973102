/**
 * The work of `millrace secrets`.
 *
 * Guarantees: a value is read from standard input or a hidden prompt, and printed nowhere.
 */
import { ListedSecret, ListedSecrets, Secret } from "@millrace/api/AdminSecretWire"
import { namesShown, secretBytes } from "@millrace/core/domain/Limits"
import { format } from "@millrace/core/domain/Timestamp"
import { Console, Effect, Redacted, Stdio, Stream } from "effect"
import * as Prompt from "effect/cli/Prompt"
import type { Session } from "./AdminSession.ts"
import { accountNamed, print, refuse, table } from "./AdminSession.ts"

/** The text on standard input, as far as a secret may be long. */
const readInput = Effect.fnUntraced(function* (stdio: Stdio.Stdio) {
  const chunks: Array<Uint8Array> = []
  let size = 0
  yield* Stream.runForEachWhile(stdio.stdin, (chunk) =>
    Effect.sync(() => {
      chunks.push(chunk)
      size += chunk.length
      return size <= secretBytes + 2
    }),
  )
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "")
})

const readValue = Effect.fnUntraced(
  function* (name: string) {
    const stdio = yield* Stdio.Stdio
    if (!(yield* stdio.stdinIsTerminal)) return yield* readInput(stdio)
    const asked = Prompt.run(Prompt.Hidden({ message: `Value of ${name}` }))
    return Redacted.value(yield* asked)
  },
  Effect.mapError(() => refuse("The value was not read; nothing was changed")),
)

/** `millrace secrets set`: prints the secret's name, or the secret without its value as JSON. */
export const set = Effect.fnUntraced(function* (
  session: Session,
  reference: string,
  name: string,
  hosts: ReadonlyArray<string>,
) {
  const value = yield* readValue(name)
  const admin = yield* session.open
  const account = yield* accountNamed(admin, reference)
  const params = { id: account.id, name }
  const secret = yield* admin.secrets.set({ params, payload: { value, hosts } })
  const where = secret.hosts.join(", ")
  const said = `Secret "${secret.name}" of account "${account.name}" may go to ${where}`
  yield* print(session, Secret, secret, { said, lines: [secret.name] })
})

const columns = {
  name: ({ name }: ListedSecret) => name,
  hosts: ({ hosts }: ListedSecret) => hosts.join(" "),
  set: ({ updatedAt }: ListedSecret) => format(updatedAt),
  "last used": ({ lastUsedAt }: ListedSecret) =>
    lastUsedAt === null ? "never" : format(lastUsedAt),
  workflows: ({ usedBy }: ListedSecret) => String(usedBy.length),
}

/** `millrace secrets list`: prints a table, or the secrets as JSON. */
export const list = Effect.fnUntraced(function* (session: Session, reference: string) {
  const admin = yield* session.open
  const { id } = yield* accountNamed(admin, reference)
  const { items } = yield* admin.secrets.list({ params: { id } })
  const text = table(columns, items, "There are no secrets")
  yield* print(session, ListedSecrets, { items }, text)
})

/** `millrace secrets remove`: prints the secret's name, and which workflows still use it. */
export const remove = Effect.fnUntraced(function* (
  session: Session,
  reference: string,
  name: string,
) {
  const admin = yield* session.open
  const { id } = yield* accountNamed(admin, reference)
  const removed = yield* admin.secrets.remove({ params: { id, name } })
  for (const { workflowId, workflowName } of removed.usedBy.slice(0, namesShown)) {
    yield* Console.error(`Workflow ${workflowId} ${JSON.stringify(workflowName)} still uses it`)
  }
  const more = removed.usedBy.length - namesShown
  if (more > 0) yield* Console.error(`${more} more workflows still use it`)
  yield* print(session, ListedSecret, removed, { lines: [removed.name] })
})
