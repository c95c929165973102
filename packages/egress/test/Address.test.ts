import { describe, expect, it } from "vitest"
import { canonical, isPublic, isWithin, literalOf, networkOf, parse } from "../src/Address.ts"

const notPublic = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:0:8.8.8.8",
  "64:ff9b::7f00:1",
  "64:ff9b::808:808",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:2::1",
  "2001:10::1",
  "2001:20::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:808:808::1",
  "3fff::1",
  "4000::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%lo",
  "fec0::1",
  "ff02::1",
]

/** Reads what is known to be an address. */
const read = (text: string) => {
  const address = parse(text)
  if (address === undefined) throw new Error(`"${text}" is no address`)
  return address
}

describe("Address.parse", () => {
  for (const text of [
    "",
    "example.com",
    "localhost",
    "127.1",
    "0x7f.1",
    "0177.0.0.1",
    "1.2.3.256",
  ]) {
    it(`finds no address in "${text}"`, () => expect(parse(text)).toBeUndefined())
  }

  it("keeps every part of an address", () => {
    expect(String(parse("1.2.3.255"))).toBe("1.2.3.255")
    expect(String(parse("2001:db8:1:2:3:4:5:6"))).toBe("2001:db8:1:2:3:4:5:6")
  })
})

describe("Address.isPublic", () => {
  for (const address of notPublic) {
    it(`is false for "${address}"`, () => expect(isPublic(read(address))).toBe(false))
  }

  const reachable = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
  ]
  for (const address of reachable) {
    it(`is true for "${address}"`, () => expect(isPublic(read(address))).toBe(true))
  }
})

describe("Address.isWithin", () => {
  const lies = (address: string, cidr: string) => isWithin(read(address), networkOf(cidr))

  it("compares an address with a network of its own family", () => {
    expect(lies("127.0.0.1", "127.0.0.1/32")).toBe(true)
    expect(lies("127.0.0.2", "127.0.0.1/32")).toBe(false)
    expect(lies("10.1.2.3", "10.0.0.0/8")).toBe(true)
    expect(lies("fd00::5", "fd00::/8")).toBe(true)
  })

  it("does not let an IPv4 network cover an IPv6 address that wraps one of it", () => {
    expect(lies("::ffff:127.0.0.1", "127.0.0.1/32")).toBe(false)
    expect(lies("127.0.0.1", "::/0")).toBe(false)
  })
})

describe("Address.networkOf", () => {
  it("throws for what is no network in CIDR notation", () => {
    for (const text of ["localhost", "127.0.0.1", "127.0.0.1/33", ""]) {
      expect(() => networkOf(text)).toThrow("CIDR")
    }
  })
})

describe("Address.literalOf", () => {
  it("finds the address in a URL's host, without brackets", () => {
    expect(String(literalOf("10.0.0.1"))).toBe("10.0.0.1")
    expect(String(literalOf("[::1]"))).toBe("::1")
  })

  it("reads localhost and everything below it as the loopback address", () => {
    for (const host of ["localhost", "localhost.", "a.localhost", "a.b.localhost."]) {
      expect(String(literalOf(host))).toBe("127.0.0.1")
    }
  })

  it("finds none in a name", () => {
    expect(literalOf("example.com")).toBeUndefined()
    expect(literalOf("localhost.example.com")).toBeUndefined()
    expect(literalOf("notlocalhost")).toBeUndefined()
  })
})

describe("Address.canonical", () => {
  it("gives two spellings of one address the same text", () => {
    expect(canonical("2606:4700:0:0::1111")).toBe(canonical("2606:4700::1111"))
  })

  it("leaves any other text as it is", () => {
    expect(["", "example.com"].map(canonical)).toEqual(["", "example.com"])
  })
})

describe("Address.networkOf", () => {
  it("says which text is no network", () => {
    for (const text of ["10.0.0.0", "10.0.0.0/33", "::1/129", "example.com/8"]) {
      expect(() => networkOf(text)).toThrow(`"${text}" is not a network in CIDR notation`)
    }
  })
})
