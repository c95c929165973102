/**
 * The opaque cursor of a listing: the start of the next page, and the filter of the listing.
 *
 * Guarantees: a cursor that was edited, cut, or made for another account or listing is refused,
 * because it is signed (HMAC-SHA256). The signing key is derived from the account's id, which no
 * answer shows. That protects against mistakes. It need not protect against an attacker: the
 * content of a cursor is checked like any input, and selects only from the caller's own account.
 */
import { isStorable } from "@millrace/api/Text"
import type { AccountId } from "@millrace/core/domain/Id"
import type { PagePosition } from "@millrace/core/domain/Page"
import { DeliveryState } from "@millrace/core/domain/Delivery"
import { RunSource, RunStatus } from "@millrace/core/domain/Run"
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import * as Base64Url from "effect/encoding/Base64Url"
import { InvalidRequest } from "../Errors.ts"

/** Which listing a cursor belongs to. */
const ListingName = Schema.Literals(["workflows", "versions", "runs", "deliveries", "items"])
export type ListingName = typeof ListingName.Type

const StorableText = Schema.String.check(isStorable)

/** The filter of a listing. */
export const Filter = Schema.Struct({
  workflowId: Schema.optionalKey(StorableText),
  status: Schema.optionalKey(RunStatus),
  source: Schema.optionalKey(RunSource),
  triggerId: Schema.optionalKey(StorableText),
  parent: Schema.optionalKey(StorableText),
  roots: Schema.optionalKey(Schema.Literals(["true", "false"])),
  from: Schema.optionalKey(Schema.Int),
  to: Schema.optionalKey(Schema.Int),
  search: Schema.optionalKey(StorableText),
  accountId: Schema.optionalKey(StorableText),
  runId: Schema.optionalKey(StorableText),
  nodeId: Schema.optionalKey(StorableText),
  state: Schema.optionalKey(DeliveryState),
})
export type Filter = typeof Filter.Type

/** The content of a cursor. */
export interface Bookmark {
  readonly filter: Filter
  readonly after: PagePosition
}

const Content = Schema.fromJsonString(Schema.Tuple([ListingName, Filter, Schema.Int, StorableText]))
const write = Schema.encodeEffect(Content)
const read = Schema.decodeOption(Content)

const tagLength = 16
const utf8 = new TextEncoder()
const text = new TextDecoder()

const join = (tag: Uint8Array, content: Uint8Array): string => {
  const bytes = new Uint8Array(tagLength + content.length)
  bytes.set(tag)
  bytes.set(content, tagLength)
  return Base64Url.encode(bytes)
}

const refused = Effect.fail(new InvalidRequest({ message: "cursor: is not one of this listing" }))

/** Writes and reads cursors. */
export class Cursors extends Context.Service<
  Cursors,
  {
    readonly write: (
      account: AccountId,
      listing: ListingName,
      bookmark: Bookmark,
    ) => Effect.Effect<string>
    readonly read: (
      account: AccountId,
      listing: ListingName,
      cursor: string,
    ) => Effect.Effect<Bookmark, InvalidRequest>
  }
>()("@millrace/http/Cursors") {
  /** Signs with the platform's WebCrypto. */
  static readonly layer: Layer.Layer<Cursors> = Layer.effect(
    Cursors,
    Effect.suspend(() => make),
  ).pipe(Layer.provide(Mac.layerWebCrypto), Layer.provide(SecureRandom.layerWebCrypto))
}

const make = Effect.gen(function* () {
  const mac = yield* Mac.Mac

  const tagOf = Effect.fnUntraced(function* (account: AccountId, content: Uint8Array) {
    const key = yield* Mac.key(Mac.hmacSha256, utf8.encode(`millrace cursor v1 ${account}`))
    return (yield* mac.sign(key, content)).subarray(0, tagLength)
  }, Effect.orDie)

  return Cursors.of({
    write: Effect.fnUntraced(function* (account, listing, { after, filter }) {
      const line = yield* Effect.orDie(write([listing, filter, after.createdAt, after.id]))
      const content = utf8.encode(line)
      return join(yield* tagOf(account, content), content)
    }),
    read: Effect.fnUntraced(function* (account, listing, cursor) {
      const bytes = Base64Url.decode(cursor)
      if (Result.isFailure(bytes)) return yield* refused
      const content = bytes.success.subarray(tagLength)
      // Compared as text: base64 has several spellings of the same bytes, and only one is a cursor.
      if (join(yield* tagOf(account, content), content) !== cursor) return yield* refused
      const said = read(text.decode(content))
      if (Option.isNone(said) || said.value[0] !== listing) return yield* refused
      const [, filter, createdAt, id] = said.value
      return { filter, after: { createdAt, id } }
    }),
  })
})
