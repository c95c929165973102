// What an owner sets of an inbound webhook: what holds where nothing is said, and what is refused.
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import type { WebhookCheck, WebhookSettings } from "../../src/domain/InboundWebhook.ts"
import {
  isFromNetworks,
  problemOfSecret,
  problemsOf,
  withChange,
} from "../../src/engine/internal/WebhookForm.ts"

const hmac = { type: "hmac", secret: "name", header: "x-signature" } as const
const standard: WebhookCheck = { type: "standard", secret: "name" }

describe("withChange", () => {
  const fresh = withChange(undefined, {})

  it("fills a new webhook with what is usual", () => {
    expect(fresh).toEqual({
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
    })
  })

  it("tells requests of Standard Webhooks apart by their ids, unless the owner says more", () => {
    expect(withChange(undefined, { verify: standard }).dedupeHeader).toBe("webhook-id")
    const dedupeBy = "{{ body.id }}"
    const said = withChange(undefined, { verify: standard, dedupeBy })
    expect([said.dedupeHeader, said.dedupeBy]).toEqual([null, dedupeBy])
    const noText = withChange(undefined, { verify: standard, dedupeBy: null })
    expect(noText.dedupeHeader).toBe("webhook-id")
    const other = withChange(undefined, { verify: standard, dedupeHeader: "x-id" })
    expect(other.dedupeHeader).toBe("x-id")
    expect(withChange(undefined, { verify: standard, dedupeHeader: null }).dedupeHeader).toBe(null)
    expect(withChange(fresh, { verify: standard }).dedupeHeader).toBe(null)
  })

  it("changes what is named, clears what is null, and leaves the rest", () => {
    const full: WebhookSettings = {
      ...fresh,
      networks: ["192.0.2.0/24"],
      into: { a: "body" },
      version: 3,
      dedupeHeader: "x-id",
      dedupeBy: "{{ body.id }}",
      enabled: false,
    }
    expect(withChange(full, {})).toEqual(full)
    expect(withChange(full, { respond: "output" })).toEqual({ ...full, respond: "output" })
    const cleared = { networks: null, into: null, version: null } as const
    const others = { dedupeHeader: null, dedupeBy: null } as const
    expect(withChange(full, { ...cleared, ...others })).toEqual({ ...full, ...cleared, ...others })
  })
})

describe("problemsOf", () => {
  const settings = withChange(undefined, {})
  const of = (change: Partial<WebhookSettings>) => problemsOf({ ...settings, ...change })

  it("finds nothing wrong with what is usual", () => {
    for (const verify of [settings.verify, standard, hmac]) expect(of({ verify })).toEqual([])
    expect(of({ into: { a: "body.a", sign: "headers.x-other" } })).toEqual([])
  })

  it("wants the body once in what is signed, and the time where there is one", () => {
    const once = ["verify.signed: expected a text with {body} once"]
    expect(of({ verify: { ...hmac, signed: "text" } })).toEqual(once)
    expect(of({ verify: { ...hmac, signed: "{body}{body}" } })).toEqual(once)
    const time = [
      "verify.signed: expected {timestamp} in it, if there is a timestampHeader, and else not",
    ]
    expect(of({ verify: { ...hmac, signed: "{timestamp}{body}" } })).toEqual(time)
    expect(of({ verify: { ...hmac, timestampHeader: "t", signed: "{body}" } })).toEqual(time)
    expect(of({ verify: { ...hmac, timestampHeader: "t" } })).toEqual([])
  })

  it("lets no header with credentials into values or what tells requests apart", () => {
    const into = { a: "headers.x-signature", b: "headers.x-id" }
    const credentials = ["into.a: expected no header with credentials"]
    expect(of({ verify: hmac, into })).toEqual(credentials)
    expect(of({ verify: standard, into })).toEqual([])
    expect(of({ verify: hmac, dedupeBy: "{{ headers.x-signature }}" })).toEqual([
      "dedupeBy: expected no header with credentials",
    ])
    expect(of({ verify: hmac, dedupeBy: "{{ headers.x-id }}" })).toEqual([])
  })

  it("tells requests apart by one of two ways", () => {
    expect(of({ dedupeBy: "{{ body.id }}", dedupeHeader: "x-id" })).toEqual([
      "dedupeBy: expected null beside a dedupeHeader: requests are told apart by one of the two",
    ])
  })

  it("names each network that is none", () => {
    expect(of({ networks: ["192.0.2.0/24", "2001:db8::/32"] })).toEqual([])
    expect(of({ networks: ["192.0.2.0/33", "home"] })).toEqual([
      'networks: expected networks such as 192.0.2.0/24, and got "192.0.2.0/33"',
      'networks: expected networks such as 192.0.2.0/24, and got "home"',
    ])
  })
})

describe("problemOfSecret", () => {
  it("wants a secret that is there, and for Standard Webhooks one in base64", () => {
    expect(problemOfSecret(standard, Redacted.make("whsec_AAAA"))).toEqual([])
    expect(problemOfSecret(standard, Redacted.make("a b"))).toEqual([
      "verify.secret: expected a secret whose value is whsec_ and base64",
    ])
    expect(problemOfSecret(hmac, Redacted.make("a b"))).toEqual([])
    expect(problemOfSecret(hmac, undefined)).toEqual([
      'verify.secret: the account has no secret "name"',
    ])
  })
})

describe("isFromNetworks", () => {
  const networks = ["192.0.2.0/24", "2001:db8::/32", "no network"]

  it("is true for addresses in one of them, also in an IPv6 form", () => {
    for (const address of ["192.0.2.7", "2001:db8::1", "::ffff:192.0.2.7"]) {
      expect(isFromNetworks(networks, address)).toBe(true)
    }
  })

  it("is false for others, and where the address is unknown", () => {
    for (const address of ["192.0.3.7", "2001:db9::1", "", "192.0.2", undefined]) {
      expect(isFromNetworks(networks, address)).toBe(false)
    }
    expect(isFromNetworks([], "192.0.2.7")).toBe(false)
  })
})
