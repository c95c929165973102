/**
 * Inputs of node types that connect to a server.
 */
import { X509Certificate } from "node:crypto"
import {
  callSeconds,
  certificatesLength,
  highestPort,
  hostLength,
} from "@millrace/core/domain/Limits"
import { Schema } from "effect"

export const HostInput = Schema.String.annotate({
  description: "The server: a name or an address, and public.",
}).check(Schema.isMinLength(1), Schema.isMaxLength(hostLength))

export const PortInput = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: highestPort }))

export const TimeoutInput = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: callSeconds }),
).annotate({ description: "For all of it, with connecting.", default: 30 })

const isCertificate = (pem: string): boolean => {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

export const CertificatesInput = Schema.String.annotate({
  description: "Certificates that vouch for the server in the place of the public ones, as PEM.",
}).check(
  Schema.isMaxLength(certificatesLength),
  Schema.makeFilter((pem: string) => isCertificate(pem) || "expected certificates as PEM text"),
)
