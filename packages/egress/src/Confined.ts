/**
 * What may leave for some hosts only: secrets, as the guard knows them.
 *
 * Guarantees: a request with one of them, in any form that `occursIn` knows, in its URL, headers or
 * body, is refused before a name is looked up, unless its host is one of those. Leaves out: the
 * secrets' forms and hosts, which their owner says.
 */

/** Something that may go to some hosts only. */
export interface Confined {
  /** What a refusal calls it. */
  readonly name: string
  readonly mayGoTo: (url: URL) => boolean
  readonly occursIn: (text: string) => boolean
}

/** The parts of a request that leave. */
interface Leaving {
  readonly url: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string | Uint8Array
}

const textOf = (body: string | Uint8Array): string =>
  typeof body === "string" ? body : new TextDecoder().decode(body)

/** The first of them that occurs in what leaves. */
export const foundIn = (
  confined: ReadonlyArray<Confined>,
  url: URL,
  { body = "", headers = {}, url: written }: Leaving,
): Confined | undefined => {
  if (confined.length === 0) return undefined
  const texts = [written, url.href, ...Object.entries(headers).flat(), textOf(body)]
  return confined.find(({ occursIn }) => texts.some(occursIn))
}

/** Why a request may not be sent, as one sentence, or `undefined` when it may. */
export const problemOfConfined = (
  confined: ReadonlyArray<Confined>,
  url: URL,
  leaving: Leaving,
): string | undefined => {
  const bound = confined.filter(({ mayGoTo }) => !mayGoTo(url))
  const found = foundIn(bound, url, leaving)
  if (found === undefined) return undefined
  // The host itself may be made of it.
  const where = found.occursIn(leaving.url) ? "this address" : url.host
  return `The secret ${JSON.stringify(found.name)} may not go to ${where}`
}
