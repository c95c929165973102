/**
 * The dashboard below a path, behind a proxy that strips it: the server never sees the path.
 */
import { buildIfOutdated } from "@millrace/dashboard"
import { once } from "node:events"
import type { Server } from "node:http"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { launchChromium } from "../../../react/test/browser/Chromium.ts"
import { record } from "../../../react/test/browser/PageAudit.ts"
import { DevServer } from "./DevServer.ts"

/** Against what hangs, not against what is slow. */
const patienceMillis = 300_000
vi.setConfig({ testTimeout: patienceMillis, hookTimeout: patienceMillis })

const prefix = "/a/b"

let browser: Browser
let server: DevServer
let proxy: Server

/** Hands everything below the prefix on, without it; everything else is not there. */
const proxyTo = (origin: string) =>
  createServer((asked, answer) => {
    const { headers, method, url = "" } = asked
    if (!url.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end()
      return
    }
    const call = request(origin + url.slice(prefix.length), { method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 502, found.headers)
      found.pipe(answer)
    })
    asked.pipe(call)
    answer.once("close", () => call.destroy())
    call.on("error", () => answer.destroy())
  })

beforeAll(async () => {
  await buildIfOutdated()
  ;[browser, server] = await Promise.all([launchChromium(), DevServer.start()])
  proxy = proxyTo(server.origin).listen(0, "127.0.0.1")
  await once(proxy, "listening")
})

afterAll(async () => {
  await browser.close()
  proxy.closeAllConnections()
  proxy.close()
  await server.end()
})

it("signs in, loads its pages, and follows a run", async () => {
  const { port } = proxy.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(patienceMillis)
  const seen = record(page, origin)
  await page.goto(`${origin}${prefix}/dashboard/login${new URL(server.link).hash}`)
  await page.getByRole("heading", { level: 1, name: "Workflows", exact: true }).waitFor()
  expect(page.url()).toBe(`${origin}${prefix}/dashboard/`)
  await page.getByRole("link", { name: "Completed" }).first().click()
  await page.getByRole("heading", { level: 1, name: "Run", exact: true }).waitFor()
  await page.getByText("Completed", { exact: true }).first().waitFor()
  await page.reload()
  await page.getByRole("heading", { level: 1, name: "Run", exact: true }).waitFor()
  expect(page.url()).toMatch(new RegExp(`^${origin}${prefix}/dashboard/runs/run_`))
  expect([seen.errors, seen.foreign]).toEqual([[], []])
})
