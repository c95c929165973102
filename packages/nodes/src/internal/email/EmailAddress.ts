/**
 * Addresses of e-mail.
 *
 * Guarantees: a text that is accepted is exactly one address, with or without a name. Leaves out:
 * the forms with comments, quotes and routes that nobody writes.
 */

/** An address, and the name before it. */
export interface EmailAddress {
  readonly name: string
  readonly address: string
}

/** No list, no group, no second address: neither blanks nor any of these marks. */
const local = String.raw`[^\s"(),:;<>@[\]\\]{1,64}`

const label = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?`

const bare = new RegExp(`^${local}@${label}$`, "u")
const named = new RegExp(`^([^"<>@,;:\\\\]*?) *<(${local}@${label})>$`, "u")

/** True for one address: `ann@example.com` or `Ann <ann@example.com>`. */
export const isAddress = (text: string): boolean => bare.test(text) || named.test(text)

/** The parts of an address. */
export const addressOf = (text: string): EmailAddress => {
  const [, name = "", address = text] = named.exec(text) ?? []
  return { name, address }
}

/** What stands after the `@`. */
export const domainOf = ({ address }: EmailAddress): string =>
  address.slice(address.indexOf("@") + 1)
