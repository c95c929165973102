/**
 * The tokens in the links with which people decide approvals.
 *
 * A token names a place of an approval and carries a signature of it, made with the master key.
 * So the same token can be made again for a second mail, and none has to be stored: what is kept is
 * its hash. A text that nobody here has signed is refused before anything is read.
 *
 * Guarantees: hashes and signatures are compared in constant time. Leaves out: whether the place
 * still waits.
 */
import { Context, Effect, Layer, Redacted, Result } from "effect"
import { Digest } from "effect/crypto"
import * as Base64Url from "effect/encoding/Base64Url"
import { AccountId, RunId } from "../../domain/Id.ts"
import { approvalTokenLength } from "../../domain/Limits.ts"
import type { Run } from "../../domain/Run.ts"
import type { ApprovalLink, ApproverPlace } from "../CurrentNode.ts"
import { NodeError } from "../CurrentNode.ts"
import type { VaultClosed } from "../../ports/Vault.ts"
import { Vault } from "../../ports/Vault.ts"

/** An addressee of an approval. */
export interface ApprovalPlace {
  readonly accountId: AccountId
  readonly runId: RunId
  readonly nodeId: string
  /** Which addressee, from 0. */
  readonly approver: number
  /** How often its approval was passed on to another address. */
  readonly version: number
}

/** A token and what is stored of it. */
export interface ApprovalToken {
  readonly token: Redacted.Redacted
  readonly hash: string
}

/** Makes tokens and reads them. */
export interface ApprovalTokens {
  /**
   * The token of a place: the one with this hash, if a key that is there makes it, else the one of
   * the newest key.
   */
  readonly make: (
    place: ApprovalPlace,
    hash?: string | null,
  ) => Effect.Effect<ApprovalToken, VaultClosed>
  /** The place that a token names, and its hash; `undefined`: none of ours. */
  readonly read: (
    token: Redacted.Redacted,
  ) => Effect.Effect<(ApprovalPlace & { readonly hash: string }) | undefined>
}

/** The prefix by which people and programs recognize a token. */
const prefix = "mra_"

const purpose = "approval"

const textOf = ({ accountId, approver, nodeId, runId, version }: ApprovalPlace): string =>
  Base64Url.encode(JSON.stringify([accountId, runId, nodeId, approver, version]))

type SignedPlace = readonly [string, string, string, number, number]

const placeOf = (text: string): ApprovalPlace => {
  const parts: unknown = JSON.parse(Result.getOrThrow(Base64Url.decodeString(text)))
  const [account, run, nodeId, approver, version] = parts as SignedPlace
  return { accountId: AccountId.make(account), runId: RunId.make(run), nodeId, approver, version }
}

/** True for texts that are the same, in a time that does not say how much of them is. */
export const isSameText = (left: string, right: string): boolean => {
  let difference = left.length ^ right.length
  for (let at = 0; at < left.length; at++) {
    difference |= left.charCodeAt(at) ^ (right.charCodeAt(at) || 0)
  }
  return difference === 0
}

const encoder = new TextEncoder()

/** Tokens that the vault signs. */
export const make: Effect.Effect<ApprovalTokens, never, Vault | Digest.Digest> = Effect.gen(
  function* () {
    const vault = yield* Vault
    const { digest } = yield* Digest.Digest
    const hashOf = (token: string) =>
      Effect.map(Effect.orDie(digest(Digest.sha256, encoder.encode(token))), Base64Url.encode)
    return {
      make: Effect.fnUntraced(function* (place, hash) {
        const text = textOf(place)
        const tokens = (yield* vault.sign(purpose, text)).map((each) => `${prefix}${text}.${each}`)
        const made = yield* Effect.forEach(tokens, (token) =>
          Effect.map(hashOf(token), (own) => ({ token: Redacted.make(token), hash: own })),
        )
        return made.find((each) => each.hash === hash) ?? made[0]!
      }),
      read: Effect.fnUntraced(function* (sealed) {
        const token = Redacted.value(sealed)
        const at = token.lastIndexOf(".")
        if (!token.startsWith(prefix) || at < 0 || token.length > approvalTokenLength)
          return undefined
        const text = token.slice(prefix.length, at)
        const signatures = yield* Effect.catch(vault.sign(purpose, text), () => Effect.succeed([]))
        const isOurs = signatures
          .map((each) => isSameText(token.slice(at + 1), each))
          .includes(true)
        return isOurs ? { ...placeOf(text), hash: yield* hashOf(token) } : undefined
      }),
    }
  },
)

/** How nodes of this process come by links. */
export interface ApprovalLinks {
  readonly make: ApprovalTokens["make"]
  /** The address of the page behind which a token stands; `undefined`: nobody has told it. */
  readonly page: string | undefined
}

/** Where people decide: the public address of the page; `undefined`: nobody has told it. */
export const CurrentApprovalPage = Context.Reference<string | undefined>(
  "@millrace/core/engine/internal/CurrentApprovalPage",
  { defaultValue: () => undefined },
)

/** How nodes of this process come by links; where nobody says so, there are none. */
export const CurrentApprovalLinks = Context.Reference<ApprovalLinks | undefined>(
  "@millrace/core/engine/internal/CurrentApprovalLinks",
  { defaultValue: () => undefined },
)

/** Nodes of this engine make links with the key of its vault. */
export const layerLinks: Layer.Layer<never, never, Vault | Digest.Digest> = Layer.effect(
  CurrentApprovalLinks,
  Effect.gen(function* () {
    const { make: makeToken } = yield* make
    return { make: makeToken, page: yield* CurrentApprovalPage }
  }),
)

const noKey = new NodeError({
  message: "links for people need a master key, and this engine has none",
  retryable: false,
})

/** The link with which an addressee of a node decides. */
export const linkOf = (
  links: ApprovalLinks | undefined,
  { accountId, id: runId }: Pick<Run, "accountId" | "id">,
  nodeId: string,
  { approver, tokenHash, version }: ApproverPlace,
): Effect.Effect<ApprovalLink, NodeError> => {
  if (links === undefined) return Effect.fail(noKey)
  const made = links.make({ accountId, runId, nodeId, approver, version }, tokenHash)
  return Effect.mapBoth(made, {
    onFailure: () => noKey,
    onSuccess: ({ hash, token }) => ({
      tokenHash: hash,
      url:
        links.page === undefined
          ? undefined
          : Redacted.make(`${links.page}#${Redacted.value(token)}`),
    }),
  })
}
