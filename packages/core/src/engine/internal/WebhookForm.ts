/**
 * What an owner sets of an inbound webhook: what holds where nothing is said, and what is wrong.
 * Pure.
 */
import { Redacted, Result } from "effect"
import * as IpNetwork from "effect/net/IpNetwork"
import * as NetAddress from "effect/net/NetAddress"
import type { WebhookCheck, WebhookSettings } from "../../domain/InboundWebhook.ts"
import { placesIn } from "../../domain/InboundWebhook.ts"
import { quoted } from "../../domain/Quote.ts"
import { signedText, standardKeyOf } from "./WebhookSignature.ts"

const usual: WebhookSettings = {
  methods: ["POST"],
  verify: { type: "none" },
  networks: null,
  respond: "at_once",
  into: null,
  dedupeHeader: null,
  dedupeBy: null,
  values: {},
  version: null,
  enabled: true,
}

type Change = { readonly [K in keyof WebhookSettings]?: WebhookSettings[K] | undefined }

/**
 * The settings with a change; of a new webhook, over what is usual. The sender's own id of a
 * message tells Standard Webhooks apart, unless the owner says otherwise.
 */
export const withChange = (known: WebhookSettings | undefined, change: Change): WebhookSettings => {
  const from = known ?? usual
  const names = Object.keys(usual) as ReadonlyArray<keyof WebhookSettings>
  const set = Object.fromEntries(names.map((name) => [name, change[name] ?? from[name]]))
  const isNamed = change.dedupeBy !== undefined && change.dedupeBy !== null
  const isNew = known === undefined && change.verify?.type === "standard" && !isNamed
  const cleared = {
    ...(change.networks === null ? { networks: null } : {}),
    ...(change.version === null ? { version: null } : {}),
    ...(change.into === null ? { into: null } : {}),
    ...(isNew ? { dedupeHeader: "webhook-id" } : {}),
    ...(change.dedupeHeader === undefined ? {} : { dedupeHeader: change.dedupeHeader }),
    ...(change.dedupeBy === undefined ? {} : { dedupeBy: change.dedupeBy }),
  }
  return { ...set, ...cleared } as WebhookSettings
}

const problemsOfSigned = (verify: WebhookCheck): ReadonlyArray<string> => {
  if (verify.type !== "hmac") return []
  const text = signedText(verify)
  if (text.split("{body}").length !== 2) return ["verify.signed: expected a text with {body} once"]
  if (text.includes("{timestamp}") === (verify.timestampHeader !== undefined)) return []
  return ["verify.signed: expected {timestamp} in it, if there is a timestampHeader, and else not"]
}

const headersOf = (verify: WebhookCheck): ReadonlyArray<string> =>
  verify.type === "hmac" ? [verify.header] : []

/** Everything that is wrong with these settings, as clauses. */
export const problemsOf = ({
  dedupeBy,
  dedupeHeader,
  into,
  networks,
  verify,
}: WebhookSettings): Array<string> => [
  ...problemsOfSigned(verify),
  ...(dedupeBy !== null && dedupeHeader !== null
    ? ["dedupeBy: expected null beside a dedupeHeader: requests are told apart by one of the two"]
    : []),
  ...headersOf(verify).flatMap((header) =>
    dedupeBy !== null && placesIn(dedupeBy).includes(`headers.${header}`)
      ? ["dedupeBy: expected no header with credentials"]
      : [],
  ),
  ...(networks ?? []).flatMap((network) =>
    Result.isSuccess(IpNetwork.fromString(network))
      ? []
      : [`networks: expected networks such as 192.0.2.0/24, and got ${quoted(network)}`],
  ),
  ...Object.entries(into ?? {}).flatMap(([field, place]) =>
    headersOf(verify).some((header) => place === `headers.${header}`)
      ? [`into.${field}: expected no header with credentials`]
      : [],
  ),
]

/** What is wrong with the secret of a check, as a clause. */
export const problemOfSecret = (
  verify: Exclude<WebhookCheck, { readonly type: "none" }>,
  secret: Redacted.Redacted | undefined,
): ReadonlyArray<string> => {
  if (secret === undefined) {
    return [`verify.secret: the account has no secret ${quoted(verify.secret)}`]
  }
  if (verify.type !== "standard" || standardKeyOf(Redacted.value(secret)) !== undefined) return []
  return ["verify.secret: expected a secret whose value is whsec_ and base64"]
}

/** True if an address is in one of these networks. */
export const isFromNetworks = (
  networks: ReadonlyArray<string>,
  address: string | undefined,
): boolean => {
  const parsed = NetAddress.ipFromString(address ?? "")
  if (Result.isFailure(parsed)) return false
  const ip = NetAddress.toCanonical(parsed.success)
  return networks.some((text) => {
    const network = IpNetwork.fromString(text)
    return Result.isSuccess(network) && IpNetwork.contains(network.success, ip)
  })
}
