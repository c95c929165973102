/**
 * Reads server-sent events from the body of an answer.
 *
 * Guarantees: an event is yielded when its last byte has arrived. Comments are skipped. Leaves out:
 * reconnecting, and the pauses that a server asks for.
 */

/** An event with its raw data. */
export interface ServerSentEvent {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
}

const parse = (block: string): ServerSentEvent | undefined => {
  const data: Array<string> = []
  let event = "message"
  let id: string | undefined
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":")
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "")
    if (field === "data") data.push(value)
    else if (field === "event") event = value
    else if (field === "id") id = value
  }
  return data.length === 0 ? undefined : { id, event, data: data.join("\n") }
}

/** The events of a body. The connection is closed when the caller stops reading. */
export const eventsOf = async function* (
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true }).replaceAll("\r\n", "\n")
      const blocks = text.split("\n\n")
      text = blocks.pop() ?? ""
      for (const block of blocks) {
        const event = parse(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    await reader.cancel()
  }
}
