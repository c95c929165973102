/**
 * A certificate for a name, signed by itself, made anew for every test run: no key is kept in the
 * repository and nothing expires. Just enough of X.509 for a TLS handshake.
 */
import { generateKeyPairSync, sign } from "node:crypto"

const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: ReadonlyArray<Uint8Array>) => der(0x30, ...parts)
const hex = (tag: number, text: string) => der(tag, Buffer.from(text, "hex"))
const text = (tag: number, content: string) => der(tag, Buffer.from(content, "latin1"))

const ecdsaWithSha256 = sequence(hex(0x06, "2a8648ce3d040302"))
const commonName = hex(0x06, "550403")
const subjectAltName = hex(0x06, "551d11")

/** PEM texts of a key and of a certificate that is good for one host name, until 2049. */
export const certificateFor = (hostname: string) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const name = sequence(der(0x31, sequence(commonName, text(0x0c, hostname))))
  const names = der(0x04, sequence(text(0x82, hostname)))
  const body = sequence(
    der(0xa0, hex(0x02, "02")),
    hex(0x02, "01"),
    ecdsaWithSha256,
    name,
    sequence(text(0x17, "200101000000Z"), text(0x17, "491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(subjectAltName, names))),
  )
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey))
  const certificate = sequence(body, ecdsaWithSha256, signature).toString("base64")
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`,
  }
}
