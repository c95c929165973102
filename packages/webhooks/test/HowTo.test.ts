/**
 * The code that receivers are told to copy does what is said of it.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Webhook } from "standardwebhooks"
import { afterAll } from "vitest"
import { keyOf, sign } from "../src/Signature.ts"

const guide = readFileSync(
  new URL("../../../docs/how-to/verify-webhooks.md", import.meta.url),
  "utf8",
)

/** The code of this language in the guide. */
const codeIn = (language: string): ReadonlyArray<string> =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(
    ([, code = ""]) => code,
  )

const folder = mkdtempSync(join(tmpdir(), "millrace-guide-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`
const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`
const id = "msg_1"
const body = Buffer.from('{"text":"grüezi  😀"}\n')

const headersAt = (timestampSeconds: number, keys: ReadonlyArray<string> = [other, secret]) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestampSeconds),
  "webhook-signature": sign({ id, timestampSeconds, body }, keys.map(keyOf)),
})

const now = Math.floor(Date.now() / 1_000)

/** What a verifier is asked, and what it has to say. */
const questions = [
  ["a request", headersAt(now), body, true],
  ["a request of an hour ago", headersAt(now - 3_600), body, false],
  ["another secret's request", headersAt(now, [other]), body, false],
  ["a changed body", headersAt(now), Buffer.from('{"text":"grüezi 😀"}\n'), false],
  ["a request without a time", { ...headersAt(now), "webhook-timestamp": "0" }, body, false],
] as const

const has = (command: string): boolean => spawnSync(command, ["--help"]).error === undefined

const run = (command: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) => {
  const options = {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...env },
    encoding: "utf8",
  } as const
  const { stderr, stdout } = spawnSync(command, args, options)
  return stdout.trim() || stderr
}

const shellOf = (headers: ReturnType<typeof headersAt>) => ({
  SECRET: secret,
  ID: headers["webhook-id"],
  TIMESTAMP: headers["webhook-timestamp"],
  SIGNATURE: headers["webhook-signature"],
})

describe("the guide's verifier", () => {
  it("in JavaScript tells who has the secret", async () => {
    const path = join(folder, "verify.mjs")
    writeFileSync(path, codeIn("js")[0]!)
    const { verify } = (await import(path)) as {
      verify: (secret: string, headers: object, body: Buffer) => boolean
    }
    for (const [what, headers, bytes, expected] of questions) {
      assert.strictEqual(verify(secret, headers, bytes), expected, what)
    }
  })

  it.skipIf(!has("python3"))("in Python tells who has the secret", () => {
    writeFileSync(join(folder, "verify.py"), codeIn("python")[0]!)
    const program =
      "import json,sys; from verify import verify; s,h,b=json.loads(sys.argv[1]); " +
      "print(verify(s,h,b.encode()))"
    for (const [what, headers, bytes, expected] of questions) {
      const question = JSON.stringify([secret, headers, bytes.toString()])
      const said = run("python3", ["-c", program, question])
      assert.strictEqual(said, expected ? "True" : "False", what)
    }
  })

  it.skipIf(!has("openssl"))("in the shell tells who has the secret", () => {
    const [code = ""] = codeIn("sh")
    for (const [what, headers, bytes, expected] of questions) {
      // A person sees the time.
      if (what.includes("ago")) continue
      writeFileSync(join(folder, "body.json"), bytes)
      const said = run("sh", ["-c", code], shellOf(headers))
      assert.strictEqual(said, expected ? "verified" : "forged", what)
    }
  })

  it.skipIf(!has("openssl") || !has("curl"))("accepts what the guide's curl sends", async () => {
    writeFileSync(join(folder, "body.json"), body)
    const verified: Array<boolean> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const headers = request.headers as Record<string, string>
        new Webhook(secret).verify(Buffer.concat(chunks), headers)
        verified.push(true)
        response.writeHead(204).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const env = { ...shellOf(headersAt(now)), URL: `http://127.0.0.1:${port}/` }
    const child = spawn("sh", ["-c", codeIn("sh")[1]!], {
      cwd: folder,
      env: { PATH: process.env["PATH"], ...env },
    })
    let out = ""
    child.stdout.on("data", (text: Buffer) => (out += text.toString()))
    await new Promise((resolve) => child.on("close", resolve))
    server.close()
    assert.deepStrictEqual([out.trim(), verified], ["204", [true]])
  })
})
