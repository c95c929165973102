import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { Egress } from "../src/Egress.ts"
import { openWeb } from "../src/Policy.ts"
import type { Resolver } from "../src/Resolve.ts"
import * as LocalServer from "./LocalServer.ts"

/** Hosts that lead to this machine or into a private network, however they are spelled. */
const hosts = [
  "127.0.0.1",
  "127.0.0.1.",
  "127.1",
  "127.0.1",
  "127.000.000.001",
  "0177.0.0.1",
  "0177.0.0.01",
  "0x7f.1",
  "0x7F.0x0.0x0.0x1",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "127.0.0.2",
  "127.255.255.254",
  "%31%32%37.0.0.1",
  "127%2e0%2e0%2e1",
  "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
  "127\u30020\u30020\u30021",
  "\u2460\u2461\u2466.0.0.1",
  "0",
  "0.0.0.0",
  "0x0",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:127.0.0.1]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b:1::127.0.0.1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[fe80::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[ff02::1]",
  "[2001:db8::1]",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "169.254.169.254",
  "2852039166",
  "169.254.43518",
  "0251.0376.0251.0376",
  "224.0.0.1",
  "255.255.255.255",
  "240.0.0.1",
  "198.18.0.1",
  "192.0.2.1",
]

/** Names whose owner answers with addresses of our own network. */
const names: { readonly [name: string]: ReadonlyArray<string> } = {
  "loopback.example": ["127.0.0.1"],
  "trailing-dot.example.": ["127.0.0.1"],
  "metadata.example": ["169.254.169.254"],
  "mapped.example": ["::ffff:127.0.0.1"],
  "nat64.example": ["64:ff9b::7f00:1"],
  "six-to-four.example": ["2002:7f00:1::1"],
  "mixed.example": ["93.184.216.34", "127.0.0.1"],
  "mixed-reversed.example": ["127.0.0.1", "93.184.216.34"],
  "mixed-families.example": ["2606:4700:4700::1111", "10.0.0.1"],
  "not-an-address.example": ["loopback.example"],
}

const resolve: Resolver = (hostname) =>
  Effect.succeed(names[hostname] ?? names[`${hostname}.`] ?? [])

/** URLs that are refused for what they are, not for where they lead. */
const forms = (port: number) => [
  `http://user@127.0.0.1:${port}/`,
  `http://example.com@127.0.0.1:${port}/`,
  `http://127.0.0.1:${port}#@example.com/`,
  `http:\\\\127.0.0.1:${port}\\`,
  `http:127.0.0.1:${port}/`,
  `ht\ntp://127.0.0.1:${port}/`,
  ` http://127.0.0.1:${port}/`,
  `ftp://127.0.0.1:${port}/`,
  `file:///etc/passwd`,
  `data:text/plain,x`,
  `unix:/var/run/docker.sock`,
  `gopher://127.0.0.1:${port}/`,
  `http://127.0.0.1:22/`,
  `//127.0.0.1:${port}/`,
  `http://[fe80::1%25lo]:${port}/`,
  `http://[::ffff:127.0.0.1:${port}/`,
  `http://256.256.256.256:${port}/`,
  "",
]

/** Calls a URL beside a server that would notice, with a policy that would permit its port. */
const attempt = (url: (port: number) => string) =>
  Effect.gen(function* () {
    const canary = yield* LocalServer.http((_request, response) => response.end("reached"))
    const guard = Egress.layer({ ...openWeb, ports: [canary.port] }, resolve)
    const request = Egress.use((egress) => egress.request({ method: "GET", url: url(canary.port) }))
    const error = yield* Effect.flip(Effect.provide(request, guard))
    expect(error._tag).toBe("EgressRefused")
    expect(error.reason).toBe("blocked")
    expect(error.message).not.toMatch(/\d+\.\d+|::/)
    expect(canary.connections()).toBe(0)
  })

describe("Egress.request, given a URL that leads inside", () => {
  it.live("would reach the server if the policy permitted it", () =>
    Effect.gen(function* () {
      const canary = yield* LocalServer.http((_request, response) => response.end("reached"))
      const guard = Egress.layer({ ...openWeb, allow: [{ cidr: "127.0.0.0/8" }] })
      const answers = yield* Effect.forEach(
        ["127.1", "2130706433", "0x7f.1", "localhost"],
        (host) =>
          Egress.use((egress) =>
            egress.request({ method: "GET", url: `http://${host}:${canary.port}/` }),
          ).pipe(Effect.provide(guard)),
      )
      expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200])
      expect(canary.connections()).toBe(4)
    }),
  )

  for (const host of hosts) {
    it.live(`refuses http://${host}/ and connects to nothing`, () =>
      attempt((port) => `http://${host}:${port}/`),
    )
  }

  for (const name of Object.keys(names)) {
    it.live(`refuses the name ${name} and connects to nothing`, () =>
      attempt((port) => `http://${name}:${port}/`),
    )
  }

  for (const [index, form] of forms(4_711).entries()) {
    it.live(`refuses ${JSON.stringify(form)} and connects to nothing`, () =>
      attempt((port) => forms(port)[index] ?? ""),
    )
  }
})
