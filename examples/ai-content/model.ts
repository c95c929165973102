/**
 * A small stand-in for a language model: it speaks the OpenAI form of chat completions, and knows
 * two answers. In the place of it, put the address of your model and its key.
 */
import { once } from "node:events"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"

interface Question {
  readonly messages: ReadonlyArray<{ readonly content: string }>
  readonly response_format?: unknown
}

const answerOf = ({ messages, response_format: format }: Question): string => {
  const asked = messages.at(-1)?.content ?? ""
  if (format === undefined) return `Quiet mornings, loud coffee: ${asked.split(": ").at(-1)}.`
  return JSON.stringify({ score: asked.includes("coffee") ? 9 : 3, reason: "it names the product" })
}

/** Starts the model on a free port of this machine. */
export const startModel = async (): Promise<{ server: Server; port: number }> => {
  const server = createServer((request, response) => {
    void json(request).then((question) => {
      const content = answerOf(question as Question)
      const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }]
      const usage = { prompt_tokens: 20, completion_tokens: 10 }
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ choices, usage }))
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return { server, port: (server.address() as AddressInfo).port }
}
