/**
 * The addresses of inbound webhooks: a part that nobody can guess, of which a store has the hash.
 */
import { Effect, Option, Redacted } from "effect"
import { Digest } from "effect/crypto"
import * as Hex from "effect/encoding/Hex"
import { isWellFormed, secretOf } from "../../domain/ApiKey.ts"
import type { Ids } from "../Ids.ts"

const encoder = new TextEncoder()

/** The SHA-256 of a text, in hexadecimal. */
export const hashOf = (digest: Digest.Digest["Service"], text: string): Effect.Effect<string> =>
  Effect.map(Effect.orDie(digest.digest(Digest.sha256, encoder.encode(text))), Hex.encode)

/** A new address whose unguessable part has this prefix. */
export const newAddress = Effect.fnUntraced(function* (
  { digest, ids }: { readonly digest: Digest.Digest["Service"]; readonly ids: Ids["Service"] },
  prefix: string,
) {
  const token = secretOf(yield* ids.bytes(32), prefix)
  return { token: Redacted.make(token), addressHash: yield* hashOf(digest, token) }
})

/** What `find` has at the hash of this address; nothing for a text that is no address. */
export const atAddress = <A, E>(
  digest: Digest.Digest["Service"],
  token: Redacted.Redacted,
  find: (addressHash: string) => Effect.Effect<Option.Option<A>, E>,
): Effect.Effect<Option.Option<A>, E> => {
  const text = Redacted.value(token)
  if (!isWellFormed(text)) return Effect.succeed(Option.none())
  return Effect.flatMap(hashOf(digest, text), find)
}
