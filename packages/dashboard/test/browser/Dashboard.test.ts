/**
 * The dashboard in a real browser, on a real server.
 */
import { buildIfOutdated } from "@millrace/dashboard"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest"
import { launchChromium } from "../../../react/test/browser/Chromium.ts"
import { findingsOf, overflowOf, record } from "../../../react/test/browser/PageAudit.ts"
import { decideListed } from "./ListedApprovals.ts"
import { DevServer, operatorToken } from "./DevServer.ts"
import { runFailedAgain } from "./FailedRuns.ts"
import { followRuns } from "./FollowRuns.ts"
import { isRead, pagesOf, title } from "./Pages.ts"
import { startLater } from "./LaterStart.ts"
import { makeSchedule, tellOfRuns, testWebhook } from "./Triggers.ts"
import { publishVersions } from "./PublishVersions.ts"

/** Against what hangs, not against what is slow: axe looks at ten pages in one test. */
const patienceMillis = 120_000
vi.setConfig({ testTimeout: patienceMillis, hookTimeout: patienceMillis })

let browser: Browser
let server: DevServer
/** A browser that an operator has signed in with, and the account that they have chosen. */
let operator: BrowserContext
let account = ""
/** The address of a receiver of webhooks, which takes everything. */
let hook = ""
const receiver = createServer((asked, answer) => {
  asked.resume()
  answer.writeHead(204).end()
})

const desk = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const newContext = async () => {
  const context = await browser.newContext({ viewport: desk })
  context.setDefaultTimeout(patienceMillis / 2)
  return context
}

beforeAll(async () => {
  const built = buildIfOutdated()
  ;[browser, server] = await Promise.all([launchChromium(), built.then(() => DevServer.start())])
  const [found] = (
    await server.ask<{ readonly items: ReadonlyArray<{ readonly id: string }> }>("/accounts")
  ).items
  account = found!.id
  await once(receiver.listen(0, "127.0.0.1"), "listening")
  hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  operator = await newContext()
  const [name = "", value = ""] = (await server.signIn()).split("=")
  await operator.addCookies([{ name, value, url: server.origin }])
  await operator.addInitScript((id) => sessionStorage.setItem("millrace.account", id), account)
})

afterAll(async () => {
  await browser.close()
  await server.end()
  receiver.closeAllConnections()
  receiver.close()
})

/** Opens a page in a tab of its own. */
const openIn = async (context: BrowserContext, path = "/") => {
  const page = await context.newPage()
  onTestFinished(() => page.close())
  const seen = record(page, server.origin)
  await page.goto(`${server.origin}/dashboard${path}`)
  return { page, seen }
}

const openAsOperator = (path?: string) => openIn(operator, path)

/** Opens a page in a browser in which nobody has signed in. */
const openAsNobody = async (path: string) => {
  const context = await newContext()
  onTestFinished(() => context.close())
  return openIn(context, path)
}

const go = (page: Page, name: string) =>
  page.getByRole("navigation").getByRole("link", { name, exact: true }).click()

/** What axe finds on a page in light, in dark, and on a phone, and whether it fits the phone. */
const lookAt = async (page: Page): Promise<ReadonlyArray<string>> => {
  const found = (look: string, findings: ReadonlyArray<string>) =>
    findings.map((finding) => `${look}: ${finding}`)
  const light = found("light", await findingsOf(page))
  await page.emulateMedia({ colorScheme: "dark" })
  const dark = found("dark", await findingsOf(page, { onlyColors: true }))
  await page.setViewportSize(phone)
  const small = found("on a phone", await findingsOf(page))
  const wide = (await overflowOf(page)) > 0 ? ["it is wider than a phone"] : []
  await page.setViewportSize(desk)
  await page.emulateMedia({ colorScheme: "light" })
  return [...light, ...dark, ...small, ...wide]
}

describe("signing in", () => {
  it("takes the link of a start once, shows a completed run, and refuses it again", async () => {
    const link = new URL(server.link)
    const { page, seen } = await openAsNobody(`/login${link.hash}`)
    await title(page, "Workflows")
    expect(page.url()).toBe(`${server.origin}/dashboard/`)
    await page.getByRole("link", { name: "Completed" }).first().click()
    await title(page, "Run")
    await page.getByText("Completed", { exact: true }).first().waitFor()
    await page.reload()
    await title(page, "Run")
    const other = await openAsNobody(`/login${link.hash}`)
    await other.page.getByRole("alert").waitFor()
    expect(await other.page.getByRole("heading", { name: "Workflows" }).count()).toBe(0)
    expect([seen.errors, seen.foreign]).toEqual([[], []])
  })

  it("takes the operator token, shows all accounts, and acts in the chosen one", async () => {
    const { page } = await openAsNobody("/login")
    await page.getByText("Sign in as an operator").click()
    await page.getByLabel("Operator token").fill(operatorToken)
    await page.getByRole("button", { name: "Sign in" }).click()
    await title(page, "Accounts")
    await page.getByRole("button", { name: /^Look at/ }).click()
    await title(page, "Workflows")
    await page.getByText("Order digest").waitFor()
    await expect.poll(() => page.getByLabel("Account").inputValue()).toBe(account)
  })
})

/** Makes something to see on pages that are empty at first; a workflow and a run that failed. */
const furnish = async () => {
  const { page } = await openAsOperator()
  const made = await page.evaluate(
    async ([accountId, url]) => {
      const ask = async (method: string, path: string, body: object) => {
        const headers = { "content-type": "application/json", "x-millrace-account": accountId }
        const init = { method, headers, body: JSON.stringify(body) }
        const answer = await fetch(`../api/console/v1${path}`, init)
        if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
        return (await answer.json()) as Record<string, string>
      }
      await ask("PUT", "/secrets/API_KEY", { value: "sk-123456", hosts: ["api.example.com"] })
      await ask("POST", "/test-events", { url })
      const node = { id: "bad", type: "fail", position: { x: 0, y: 0 } }
      const data = { inputs: { message: "out of stock" } }
      const nodes = [{ ...node, data }]
      const { id = "" } = await ask("POST", "/workflows", { name: "Failing", nodes, edges: [] })
      const { runId = "" } = await ask("POST", "/runs", { workflowId: id })
      const inputs = { title: "Refund 900 EUR?", roles: ["editor"] }
      const asking = { id: "ask", type: "approval", position: { x: 0, y: 0 }, data: { inputs } }
      const refund = { name: "Refund", nodes: [asking], edges: [] }
      const { id: workflowId = "" } = await ask("POST", "/workflows", refund)
      await ask("POST", "/runs", { workflowId })
      return { id, runId }
    },
    [account, hook] as const,
  )
  const grant = { actor: "ada", reason: "welcome", amount: 5 }
  await server.ask(`/accounts/${account}/credits/grants`, grant)
  return made
}

describe("every page", () => {
  it("has nothing that axe finds, in light, in dark and on a phone, which it fits", async () => {
    const made = await furnish()
    const all = pagesOf(made)
    // Two tabs, one for each core that a small machine has.
    const halves = [all.slice(0, all.length / 2), all.slice(all.length / 2)]
    const looks = halves.map(async (half) => {
      const { page, seen } = await openAsOperator()
      const found: Array<string> = []
      for (const place of half) {
        const [, path] = place
        await page.evaluate((to) => history.pushState(null, "", `/dashboard${to}`), path)
        await isRead(page, place)
        found.push(...(await lookAt(page)).map((finding) => `${path} ${finding}`))
      }
      return [found, seen.errors, seen.foreign]
    })
    expect(await Promise.all(looks)).toEqual(halves.map(() => [[], [], []]))
    const login = await openAsNobody("/login")
    await login.page.getByText("Sign in as an operator").click()
    expect(await lookAt(login.page)).toEqual([])
  })

  it("is behind one button on a phone", async () => {
    const { page } = await openAsOperator()
    await page.setViewportSize(phone)
    await page.getByRole("button", { name: "Navigation" }).click()
    expect(await findingsOf(page)).toEqual([])
    await go(page, "Health")
    await title(page, "Health")
    expect(await overflowOf(page)).toBe(0)
  })
})

describe("working", () => {
  it("starts a workflow by keyboard alone, shows its end, and reads node types once", async () => {
    const { page, seen } = await openAsOperator()
    await page.getByRole("button", { name: "Run Hello" }).press("Enter")
    await page.getByLabel(/^name/).fill("Grace")
    await page.getByLabel(/^name/).press("Enter")
    await title(page, "Run")
    await page.getByText("Completed", { exact: true }).first().waitFor()
    expect(await findingsOf(page)).toEqual([])
    await go(page, "Runs")
    await page.getByRole("region", { name: "Runs" }).getByText("Hello").first().waitFor()
    await page.goBack()
    await title(page, "Run")
    await page.getByText("Completed", { exact: true }).first().waitFor()
    expect(seen.calls.filter((call) => call.url().endsWith("/node-types"))).toHaveLength(1)
    await page.getByRole("button", { name: "Open in editor with this data" }).click()
    await title(page, "Hello")
    await page.getByText(/nodes? (?:is|are) pinned/).waitFor()
    expect(seen.errors).toEqual([])
  })

  it("draws a workflow with its edges, also where it is too far away to show ports", async () => {
    const { page } = await openAsOperator()
    await page.getByRole("link", { name: "Diamond" }).click()
    await title(page, "Diamond")
    const edges = page.locator(".react-flow__edge")
    await expect.poll(() => edges.count()).toBeGreaterThan(4)
    expect(await findingsOf(page)).toEqual([])
    await page.setViewportSize(phone)
    await page.reload()
    await expect.poll(() => edges.count()).toBeGreaterThan(4)
    // Nodes are measured again when they come back, as they are when they come into view.
    await page.evaluate(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
      const nodes = [...document.querySelectorAll<HTMLElement>(".react-flow__node")]
      for (const display of ["none", ""]) {
        for (const { style } of nodes) style.display = display
        await frame()
        await frame()
      }
    })
    expect(await edges.count()).toBeGreaterThan(4)
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
    await makeSchedule(page, hook)
    await followRuns(page)
    expect(seen.foreign).toEqual([])
  })

  it("publishes a workflow, compares its versions, and brings one back", async () => {
    const { page, seen } = await openAsOperator()
    await page.getByRole("link", { name: "Hello", exact: true }).click()
    await title(page, "Hello")
    await publishVersions(page)
    expect([seen.errors, seen.foreign]).toEqual([[], []])
  })

  it("makes a webhook, shows its address once, and lists the run that it starts", async () => {
    const { page, seen } = await openAsOperator()
    await page.getByRole("link", { name: "Hello", exact: true }).click()
    await page.getByRole("link", { name: "Triggers" }).click()
    await page.getByRole("button", { name: "New webhook" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel(/^A request shows/).selectOption("A signature of its body (HMAC)")
    await dialog.getByLabel("Name of the secret").fill("NOBODY")
    await dialog.getByLabel("Header with the signature").fill("X-Signature")
    await dialog.getByText("Methods, copies, networks").click()
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText('the account has no secret "NOBODY"').waitFor()
    expect(await findingsOf(page)).toEqual([])
    await dialog.getByLabel(/^A request shows/).selectOption("none")
    await dialog.getByRole("button", { name: "Save" }).click()
    const address = (await dialog.locator("output").textContent())!
    const send = () =>
      fetch(address, { method: "POST", body: new URLSearchParams({ name: "Ada" }) })
    await dialog.getByLabel("I have kept the address").check()
    await dialog.getByRole("button", { name: "Close" }).click()
    const row = page.getByRole("region", { name: "Webhooks" }).getByRole("row").nth(1)
    await row.waitFor()
    expect(await findingsOf(page)).toEqual([])
    expect(await page.content()).not.toContain(address)
    await tellOfRuns(page, row, hook)
    expect((await send()).status).toBe(202)
    await row.getByRole("checkbox").click()
    await expect.poll(() => row.getByRole("checkbox").isChecked()).toBe(false)
    expect((await send()).status).toBe(404)
    await row.getByRole("link", { name: /^Runs/ }).click()
    await page.getByLabel("Started by").selectOption("Webhook")
    await page.getByRole("link", { name: "Completed" }).waitFor()
    expect(await page.getByRole("row").count()).toBe(2)
    await go(page, "Deliveries")
    await page.getByRole("row", { name: `run.completed ${hook}` }).waitFor()
    await page.goBack()
    await page.goBack()
    await testWebhook(page, row)
    await row.getByRole("button", { name: /^New address/ }).click()
    await dialog.getByRole("button", { name: "Make a new address" }).click()
    expect(await dialog.locator("output").textContent()).not.toBe(address)
    await dialog.getByLabel("I have kept the address").check()
    await dialog.getByRole("button", { name: "Close" }).click()
    await row.getByRole("button", { name: /^Remove/ }).click()
    await dialog.getByRole("button", { name: "Remove" }).click()
    await page.getByText("Nothing starts it by itself").waitFor()
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

  it("runs again what has failed, each run once", async () => {
    const { page, seen } = await openAsOperator()
    await runFailedAgain(page)
    expect(seen.errors).toEqual([])
  })

  it("starts a run for later, and shows when, how urgent and with which key", async () => {
    const { page, seen } = await openAsOperator()
    await startLater(page)
    expect(seen.errors).toEqual([])
  })

  it("lists what waits for a decision, and leads to the form of it", async () => {
    const { page, seen } = await openAsOperator()
    await decideListed(page)
    expect(seen.errors).toEqual([])
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

  it("sends a test event, and says in one sentence why an address is refused", async () => {
    const { page } = await openAsOperator("/deliveries")
    await page.getByRole("button", { name: "Send a test event" }).click()
    const dialog = page.getByRole("dialog", { name: "Send a test event" })
    await dialog.getByLabel("Address").fill("https://10.0.0.7/hook")
    await dialog.getByRole("button", { name: "Send", exact: true }).click()
    expect(await dialog.getByRole("alert").textContent()).toMatch(/^webhook\.url: .*public/)
    expect(await lookAt(page)).toEqual([])
    await dialog.getByLabel("Address").fill(hook)
    await dialog.getByLabel("Address").press("Enter")
    await page
      .getByRole("row", { name: `webhook.test ${hook}` })
      .nth(1)
      .waitFor()
    await expect.poll(() => dialog.count()).toBe(0)
  })

  it("grants credits, and checks that all add up", async () => {
    const { page, seen } = await openAsOperator("/grants")
    await page.getByRole("button", { name: "Grant credits" }).click()
    const dialog = page.getByRole("dialog", { name: "Grant credits" })
    await dialog.getByLabel("Credits", { exact: true }).fill("2.5")
    await dialog.getByLabel(/^Who/).fill("Grace")
    await dialog.getByLabel(/^Why/).fill("a trial")
    expect(await lookAt(page)).toEqual([])
    await dialog.getByLabel(/^Why/).press("Enter")
    const left = page.getByRole("region", { name: "Grants with credits left" })
    await left.getByRole("row", { name: /2\.5 2\.5 a trial Grace/ }).waitFor()
    await page.getByRole("region", { name: "Ledger" }).getByText("Grace").waitFor()
    await go(page, "Health")
    await page.getByText("It answers, and so does its database.").waitFor()
    await page.getByRole("button", { name: "Check that all credits add up" }).click()
    await page.getByText("All credits of 1 account add up.").waitFor()
    expect(seen.errors).toEqual([])
  })

  it("says which versions of node types are in use, and by which workflows", async () => {
    const { page, seen } = await openAsOperator("/node-types")
    await page.getByRole("button", { name: "Look in all accounts" }).click()
    const list = page.getByRole("region", { name: "Versions in use" })
    await list.getByRole("row", { name: /^transform 1 \d+ drafts?.* Hello/ }).waitFor()
    expect(await lookAt(page)).toEqual([])
    expect(seen.errors).toEqual([])
  })

  it("gives a viewer nothing to change, and the server refuses what is tried", async () => {
    const { page } = await openAsOperator()
    await go(page, "Sessions")
    await page.getByRole("button", { name: "Make a sign-in link" }).click()
    await page.getByRole("button", { name: "Make a link" }).click()
    const link = (await page.getByRole("dialog").locator("output").textContent())!
    const viewer = await openAsNobody(`/login${new URL(link).hash}`)
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
    await title(page, "Workflows")
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
