/**
 * The dashboard in a real browser, on a real server.
 */
import { buildIfOutdated, folder } from "@millrace/dashboard"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { launchChromium } from "../../react/test/browser/Chromium.ts"
import { findingsOf, overflowOf, record } from "../../react/test/browser/PageAudit.ts"
import { DevServer, operatorToken } from "./DevServer.ts"

/** Against what hangs, not against what is slow: axe looks at ten pages in one test. */
const patienceMillis = 300_000
vi.setConfig({ testTimeout: patienceMillis, hookTimeout: patienceMillis })

let browser: Browser
let server: DevServer

beforeAll(async () => {
  await buildIfOutdated()
  ;[browser, server] = await Promise.all([launchChromium(), DevServer.start()])
})

afterAll(async () => {
  await browser.close()
  await server.end()
})

const open = async (options: BrowserContextOptions = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMillis)
  return { page, seen: record(page, server.origin) }
}

const go = (page: Page, name: string) =>
  page.getByRole("navigation").getByRole("link", { name, exact: true }).click()

const title = (page: Page, name: string) =>
  page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

/** Signs in with the operator token and chooses the only account. */
const openAsOperator = async (options: BrowserContextOptions = {}) => {
  const { page } = await open(options)
  await page.goto(`${server.origin}/dashboard/login`)
  await page.getByText("Sign in as an operator").click()
  await page.getByLabel("Operator token").fill(operatorToken)
  await page.getByRole("button", { name: "Sign in" }).click()
  await title(page, "Accounts")
  await page.getByRole("button", { name: /^Look at/ }).click()
  await title(page, "Workflows")
  return { page, seen: record(page, server.origin) }
}

/** The pages of the navigation, and something that is there once they are read. */
const pages: ReadonlyArray<readonly [name: string, sign: string]> = [
  ["Workflows", "Order digest"],
  ["Runs", "Live"],
  ["Deliveries", "No webhooks were sent"],
  ["Usage", "Available credits"],
  ["Node types", "http_request"],
  ["API keys", "Last used"],
  ["Secrets", "No secrets yet"],
  ["Sessions", "Last used"],
  ["Accounts", "default"],
  ["Settings", "Theme"],
]

describe("signing in", () => {
  it("takes the link of a start once, shows a completed run, and refuses it again", async () => {
    const { page, seen } = await open()
    await page.goto(server.link)
    await title(page, "Workflows")
    expect(page.url()).toBe(`${server.origin}/dashboard/`)
    await page.getByRole("link", { name: "Completed" }).first().click()
    await title(page, "Run")
    await page.getByText("Completed", { exact: true }).first().waitFor()
    await page.reload()
    await title(page, "Run")
    const other = await open()
    await other.page.goto(server.link)
    await other.page.getByRole("alert").waitFor()
    expect(await other.page.getByRole("heading", { name: "Workflows" }).count()).toBe(0)
    expect([seen.errors, seen.foreign]).toEqual([[], []])
  })
})

describe("every page", () => {
  it.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
  ] as const)("has nothing that axe finds, %s", async (_, options) => {
    const { page, seen } = await openAsOperator(options)
    const found: Array<string> = []
    for (const [name, sign] of pages) {
      await go(page, name)
      await title(page, name)
      await page.getByRole("main").getByText(sign).first().waitFor()
      found.push(...(await findingsOf(page)).map((finding) => `${name}: ${finding}`))
    }
    expect(found).toEqual([])
    expect([seen.errors, seen.foreign]).toEqual([[], []])
  })

  it("fits a phone, behind one button, and has nothing that axe finds", async () => {
    const { page } = await openAsOperator({ viewport: { width: 390, height: 844 } })
    const found: Array<string> = []
    for (const [name, sign] of pages) {
      await page.getByRole("button", { name: "Navigation" }).click()
      await go(page, name)
      await page.getByRole("main").getByText(sign).first().waitFor()
      if ((await overflowOf(page)) > 0) found.push(`${name} is too wide`)
      if (name === "Runs") found.push(...(await findingsOf(page)))
    }
    expect(found).toEqual([])
  })
})

describe("working", () => {
  it("starts a workflow from a form by keyboard alone, and shows its end", async () => {
    const { page, seen } = await openAsOperator()
    await page.getByRole("button", { name: "Run Hello" }).press("Enter")
    await page.getByLabel(/^name/).fill("Grace")
    await page.getByLabel(/^name/).press("Enter")
    await title(page, "Run")
    await page.getByText("Completed", { exact: true }).first().waitFor()
    expect(await findingsOf(page)).toEqual([])
    await go(page, "Runs")
    await page.getByRole("region", { name: "Runs" }).getByText("Hello").first().waitFor()
    expect(seen.errors).toEqual([])
  })

  it("draws a workflow with its edges", async () => {
    const { page } = await openAsOperator()
    await page.getByRole("link", { name: "Diamond" }).click()
    await title(page, "Diamond")
    await expect.poll(() => page.locator(".react-flow__edge").count()).toBeGreaterThan(4)
    expect(await findingsOf(page)).toEqual([])
  })

  it("makes a workflow, draws it, runs it in the editor, and changes it as JSON", async () => {
    const { page, seen } = await openAsOperator()
    await page.getByRole("button", { name: "New workflow" }).click()
    await title(page, "New workflow")
    await page.getByRole("button", { name: "Add a node", exact: true }).first().click()
    const search = page.getByRole("combobox", { name: "Search node types" })
    await search.fill("fail")
    await search.press("Enter")
    const field = page.locator('[data-field="inputs/message"]').locator("input, textarea").first()
    await field.fill("out of stock")
    await field.press("Tab")
    await page.getByText("Saved", { exact: true }).first().waitFor()
    expect(await findingsOf(page)).toEqual([])
    await page.getByRole("link", { name: "Settings", exact: true }).last().click()
    await page.getByLabel("Name", { exact: true }).fill("Forty-two")
    await page.getByText("Saved", { exact: true }).waitFor()
    expect(await findingsOf(page)).toEqual([])
    await page.getByRole("link", { name: "JSON" }).click()
    const code = page.getByLabel("The workflow as JSON")
    await expect.poll(() => code.inputValue()).toContain('"Forty-two"')
    await code.fill('{ "name": "Forty-two" }')
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("This is no workflow").waitFor()
    expect(await findingsOf(page)).toEqual([])
    await page.getByRole("link", { name: "Editor" }).click()
    await page.locator(".react-flow__node", { hasText: "Fail" }).waitFor()
    expect([seen.errors, seen.foreign]).toEqual([[], []])
  })

  it("makes a schedule, shows its next ten times, changes it and switches it off", async () => {
    const { page, seen } = await openAsOperator()
    await page.getByRole("link", { name: "Hello", exact: true }).click()
    await page.getByRole("link", { name: "Triggers" }).click()
    await page.getByText("No schedules yet").waitFor()
    await page.getByRole("button", { name: "New schedule" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("textbox", { name: "Cron text" }).fill("61 * * * *")
    await dialog.getByLabel("Time zone").fill("Europe/Berlin")
    await dialog.getByLabel("Values of its runs, as JSON").fill('{ "name": "Ada" }')
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByRole("alert").waitFor()
    expect(await findingsOf(page)).toEqual([])
    await dialog.getByRole("textbox", { name: "Cron text" }).fill("30 7 * * 1-5")
    await dialog.getByRole("button", { name: "Save" }).click()
    const row = page.getByRole("row", { name: /30 7/ })
    await row.waitFor()
    expect(await findingsOf(page)).toEqual([])
    await row.getByRole("button", { name: /^Next times/ }).click()
    await expect.poll(() => dialog.getByRole("listitem").count()).toBe(10)
    await page.keyboard.press("Escape")
    await row.getByRole("button", { name: /^Edit/ }).click()
    await dialog.getByRole("combobox", { name: /^When/ }).selectOption("At an interval")
    await dialog.getByLabel("Seconds from one time to the next").fill("86400")
    await dialog.getByRole("button", { name: "Save" }).click()
    const changed = page.getByRole("row", { name: /every 86,400 s/ })
    await changed.getByRole("checkbox").click()
    await expect.poll(() => changed.getByRole("checkbox").isChecked()).toBe(false)
    await changed.getByRole("button", { name: /^Remove/ }).click()
    await dialog.getByRole("button", { name: "Remove" }).click()
    await page.getByText("No schedules yet").waitFor()
    expect(seen.foreign).toEqual([])
  })

  it("exports a workflow, and imports the file as another one", async () => {
    const { page } = await openAsOperator()
    await page.getByRole("link", { name: "Diamond" }).click()
    await title(page, "Diamond")
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ])
    expect(file.suggestedFilename()).toBe("Diamond.json")
    const text = readFileSync(await file.path(), "utf8").replace("Diamond", "Emerald")
    await go(page, "Workflows")
    const field = page.getByLabel("File of a workflow")
    await field.setInputFiles({
      name: "bad.json",
      mimeType: "application/json",
      buffer: Buffer.from("{"),
    })
    await page.getByText("bad.json is not JSON").waitFor()
    await field.setInputFiles({
      name: "emerald.json",
      mimeType: "application/json",
      buffer: Buffer.from(text),
    })
    await title(page, "Emerald")
    await expect.poll(() => page.locator(".react-flow__edge").count()).toBeGreaterThan(4)
  })

  it("shows a new key once, and closes only when it is said to be kept", async () => {
    const { page } = await openAsOperator()
    await go(page, "API keys")
    await page.getByRole("button", { name: "Create a key" }).click()
    await page.getByLabel("Label").fill("<b>deploy</b>")
    await page.getByRole("button", { name: "Create", exact: true }).click()
    const dialog = page.getByRole("dialog", { name: "Your new key" })
    const secret = await dialog.locator("output").textContent()
    expect(secret).toMatch(/^mr_\w{49}$/)
    await page.keyboard.press("Escape")
    expect(await dialog.isVisible()).toBe(true)
    await dialog.getByLabel("I have kept the key").check()
    await dialog.getByRole("button", { name: "Close" }).click()
    await page.getByText("<b>deploy</b>", { exact: true }).waitFor()
    expect(await page.content()).not.toContain(secret)
  })

  it("gives a viewer nothing to change, and the server refuses what is tried", async () => {
    const { page } = await openAsOperator()
    await go(page, "Sessions")
    await page.getByRole("button", { name: "Make a sign-in link" }).click()
    await page.getByRole("button", { name: "Make a link" }).click()
    const link = (await page.getByRole("dialog").locator("output").textContent())!
    const viewer = await open()
    await viewer.page.goto(link)
    await title(viewer.page, "Workflows")
    await viewer.page.getByText("Order digest").waitFor()
    expect(await viewer.page.getByRole("button", { name: /^Run / }).count()).toBe(0)
    expect(await viewer.page.getByRole("link", { name: "API keys" }).count()).toBe(0)
    const status = await viewer.page.evaluate(async () => {
      const init = { method: "POST", body: "{}", headers: { "content-type": "application/json" } }
      return (await fetch("../api/console/v1/runs", init)).status
    })
    expect(status).toBe(403)
  })
})

describe("going somewhere", () => {
  it("opens with Ctrl-K, and finds pages and workflows by keyboard", async () => {
    const { page, seen } = await openAsOperator()
    await page.keyboard.press("Control+k")
    const field = page.getByRole("combobox", { name: "Page, workflow or run" })
    await field.fill("diam")
    await page.getByRole("option", { name: /Diamond/ }).waitFor()
    expect(await findingsOf(page)).toEqual([])
    await field.press("Enter")
    await title(page, "Diamond")
    await page.keyboard.press("Control+k")
    await field.fill("deli")
    await field.press("Enter")
    await title(page, "Deliveries")
    expect(seen.errors).toEqual([])
  })
})

describe("what is loaded", () => {
  const sizes = () =>
    new Map(
      readdirSync(join(folder, "assets")).map((name) => [
        name,
        gzipSync(readFileSync(join(folder, "assets", name))).length / 1_000,
      ]),
    )

  const sum = (names: Iterable<string>, all: ReadonlyMap<string, number>) =>
    [...names].reduce((total, name) => total + (all.get(name) ?? 0), 0)

  it("is at most 130 kB of script for the first page, 12 kB of style, and 500 kB in all", () => {
    const all = sizes()
    const page = readFileSync(join(folder, "index.html"), "utf8")
    const first = [...page.matchAll(/assets\/([\w.-]+\.js)/g)].map(([, name]) => name!)
    expect(first.length).toBeGreaterThan(0)
    expect(sum(first, all)).toBeLessThan(130)
    const styles = [...page.matchAll(/assets\/([\w.-]+\.css)/g)].map(([, name]) => name!)
    expect(styles.length).toBeGreaterThan(0)
    expect(sum(styles, all)).toBeLessThan(12)
    expect(sum(all.keys(), all)).toBeLessThan(500)
  })
})
