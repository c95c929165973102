/**
 * `millrace dev` in memory, as a process, with the built app.
 */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

const main = fileURLToPath(new URL("../../../server/src/main.ts", import.meta.url))

/** The token of its operators. */
export const operatorToken = "operator-of-the-dashboard-0123456789abcdef"

/** A server that has printed its banner. */
export class DevServer {
  readonly #child: ChildProcess
  /** The link that signs in, once. */
  readonly link: string
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string

  private constructor(child: ChildProcess, link: string) {
    this.#child = child
    this.link = link
    this.origin = new URL(link).origin
  }

  /** Starts one on a free port. Rejects with all that it printed if it ends first. */
  static async start(): Promise<DevServer> {
    const args = ["--conditions=@millrace/source", main, "dev", "--memory", "--port", "0"]
    const child = spawn(process.execPath, args, {
      env: {
        PATH: process.env["PATH"],
        NO_COLOR: "1",
        MILLRACE_ADMIN_TOKEN: operatorToken,
        MILLRACE_EGRESS_ALLOW: "127.0.0.1/32",
      },
      stdio: ["ignore", "pipe", "pipe"],
    })
    let printed = ""
    const link = await new Promise<string>((resolve, reject) => {
      const read = (text: unknown) => {
        printed += String(text)
        const found = /http:\S+\/dashboard\/login#t=\S+/.exec(printed)?.[0]
        if (found !== undefined && printed.includes("Ctrl-C")) resolve(found)
      }
      child.stdout.on("data", read)
      child.stderr.on("data", read)
      child.once("exit", (code) => reject(new Error(`It ended with ${code}:\n${printed}`)))
    })
    return new DevServer(child, link)
  }

  /** Signs in as an operator; the cookie of the session. */
  async signIn(): Promise<string> {
    const answer = await fetch(`${this.origin}/api/console/v1/sign-in`, {
      method: "POST",
      body: JSON.stringify({ operatorToken }),
      headers: { "content-type": "application/json", origin: this.origin },
    })
    return answer.headers.get("set-cookie")!.split(";")[0]!
  }

  /** Calls the interface for operators. */
  async ask<A>(path: string, body?: object): Promise<A> {
    const answer = await fetch(`${this.origin}/api/admin/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      body: body === undefined ? null : JSON.stringify(body),
      headers: { "content-type": "application/json", authorization: `Bearer ${operatorToken}` },
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${text}`)
    return JSON.parse(text) as A
  }

  /** Stops it and waits until it has ended. */
  async end(): Promise<void> {
    const ended = once(this.#child, "exit")
    this.#child.kill("SIGINT")
    await ended
  }
}
