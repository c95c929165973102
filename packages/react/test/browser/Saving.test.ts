/**
 * What somebody types in an editor is there afterwards: with two tabs, with two people, and with a
 * server that dies.
 */
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest"
import { launchChromium } from "./Chromium.ts"
import { editorNodes, fill, nodeAt, patienceMillis, portAt, saved } from "./EditorPage.ts"
import { findingsOf, overflowOf } from "./PageAudit.ts"
import type { Shown } from "./page/main.tsx"
import { buildPage, TestServer } from "./TestServer.ts"

vi.setConfig({ testTimeout: patienceMillis, hookTimeout: patienceMillis })

let server: TestServer
let browser: Browser

beforeAll(async () => {
  ;[server, browser] = await Promise.all([
    TestServer.start(editorNodes),
    launchChromium(),
    buildPage(),
  ])
})

afterAll(async () => {
  await browser.close()
  await server.close()
})

const gateAt = (id: string, label: string, column: number) => ({
  id,
  type: "gate",
  position: { x: 40 + 360 * column, y: 40 },
  data: { label, inputs: { name: id } },
})

const makeWorkflow = async (name: string): Promise<string> => {
  const nodes = [gateAt("a", "First", 0), gateAt("b", "Second", 1)]
  return (await server.engine.workflows.create({ name, nodes })).id
}

/** The names that the gates have on the server. */
const stored = async (id: string) =>
  (await server.engine.workflows.get(id)).nodes.map(
    ({ data }) => (data as { readonly inputs: { readonly name: string } }).inputs.name,
  )

const openBrowser = async (options: Parameters<Browser["newContext"]>[0] = {}) => {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...options })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(patienceMillis)
  return context
}

const openTab = async (context: BrowserContext, id: string, shown: Partial<Shown> = {}) => {
  const page = await context.newPage()
  await page.goto(server.addressOf({ editors: [id], user: "ada", ...shown }))
  await nodeAt(page, "First").waitFor()
  return page
}

const type = async (page: Page, label: string, text: string) => {
  await nodeAt(page, label).focus()
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: label }).waitFor()
  await fill(page, "name", text)
}

/** What the field shows. */
const typed = (page: Page) =>
  page.locator('[data-field="inputs/name"]').locator("input, textarea").first().inputValue()

const stateIs = (page: Page, state: string) =>
  page.locator(`[data-state="${state}"]`).getByRole("status").waitFor()

const draftsIn = (page: Page) =>
  page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("millrace-draft")))

const choose = (page: Page, side: string) =>
  page
    .getByRole("dialog")
    .getByRole("radio", { name: new RegExp(`^${side}`) })
    .check()

describe("Saving", () => {
  it("keeps what two tabs change in different nodes", async () => {
    const id = await makeWorkflow("tabs")
    const context = await openBrowser()
    const [one, other] = [await openTab(context, id), await openTab(context, id)]
    await type(one, "First", "one")
    await type(other, "Second", "other")
    await expect.poll(() => stored(id), { timeout: patienceMillis }).toEqual(["one", "other"])
    await Promise.all([saved(one), saved(other)])
    await expect.poll(() => draftsIn(one)).toEqual([])
  })

  const looks = [
    ["light", {}],
    ["dark", {}],
    ["system", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
  ] as const

  it.each(looks)("asks which one stays where two changed the same: %s", async (theme, options) => {
    const id = await makeWorkflow(`choice ${theme}`)
    const page = await openTab(await openBrowser(options), id, { theme })
    const other = await server.engine.workflows.get(id)
    const nodes = other.nodes.map((node) => ({
      ...node,
      data: { ...(node.data as object), inputs: { name: `theirs ${node.id}` } },
    }))
    await server.engine.workflows.update(id, { nodes })
    await type(page, "First", "mine")
    await stateIs(page, "conflict")
    expect(await stored(id)).toEqual(["theirs a", "theirs b"])
    await page.getByRole("button", { name: "Compare" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("Node First").waitFor()
    await dialog.getByText("1 choice is left.").waitFor()
    expect(await findingsOf(page)).toEqual([])
    expect(await overflowOf(page)).toBe(0)
    await choose(page, "Mine")
    await dialog.getByRole("button", { name: "Merge and save" }).click()
    await saved(page)
    expect(await stored(id)).toEqual(["mine", "theirs b"])
  })

  it("loses nothing that was typed when the server dies and the page is loaded again", async () => {
    const id = await makeWorkflow("dead")
    const context = await openBrowser()
    const page = await openTab(context, id)
    await type(page, "First", "before")
    await saved(page)
    await server.shut()
    await type(page, "First", "after")
    await stateIs(page, "offline")
    await page.getByText("kept in this browser until they are saved").waitFor()
    await page.route("**/api/**", (route) => route.abort())
    await server.open()
    await page.reload()
    await nodeAt(page, "First").focus()
    await page.keyboard.press("Enter")
    expect(await typed(page)).toBe("after")
    expect(await page.getByText(/no (?:node type|such input)/).count()).toBe(0)
    await page.getByRole("button", { name: "Show what is not saved" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("Node First was changed.").waitFor()
    await dialog.locator("dd", { hasText: "before" }).waitFor()
    await dialog.locator("dd", { hasText: "after" }).waitFor()
    expect(await findingsOf(page)).toEqual([])
    await page.keyboard.press("Escape")
    expect(await stored(id)).toEqual(["before", "b"])
    await page.unroute("**/api/**")
    await page.getByRole("button", { name: "Try again" }).click()
    await saved(page)
    expect(await stored(id)).toEqual(["after", "b"])
    expect(await draftsIn(page)).toEqual([])
    await portAt(page, "Output", "output", "First").waitFor()
  })

  const withoutSaves = (context: BrowserContext) =>
    context.route("**/api/**", (route) =>
      route.request().method() === "PATCH" ? route.abort() : route.fallback(),
    )

  it("keeps unsaved work for its user, over the end of the tab", async () => {
    const id = await makeWorkflow("users")
    const context = await openBrowser()
    const page = await openTab(context, id)
    await withoutSaves(context)
    await type(page, "First", "by ada")
    await stateIs(page, "offline")
    await page.close()
    const bob = await openTab(context, id, { user: "bob" })
    await nodeAt(bob, "First").focus()
    await bob.keyboard.press("Enter")
    expect(await typed(bob)).toBe("a")
    expect(await draftsIn(bob)).toHaveLength(1)
    await context.unroute("**/api/**")
    await saved(await openTab(context, id))
    await expect.poll(() => stored(id)).toEqual(["by ada", "b"])
  })

  it("keeps unsaved work for the tab only, where nobody says who the user is", async () => {
    const id = await makeWorkflow("nobody")
    const context = await openBrowser()
    const page = await context.newPage()
    await page.goto(server.addressOf({ editors: [id] }))
    await nodeAt(page, "First").waitFor()
    await withoutSaves(context)
    await type(page, "First", "by somebody")
    await stateIs(page, "offline")
    expect(await draftsIn(page)).toEqual([])
    const next = await context.newPage()
    await next.goto(server.addressOf({ editors: [id] }))
    await nodeAt(next, "First").focus()
    await next.keyboard.press("Enter")
    expect(await typed(next)).toBe("a")
    await context.unroute("**/api/**")
    await page.reload()
    await nodeAt(page, "First").waitFor()
    await saved(page)
    await expect.poll(() => stored(id)).toEqual(["by somebody", "b"])
  })

  it("offers a new workflow for one that was deleted", async () => {
    const id = await makeWorkflow("gone")
    const page = await openTab(await openBrowser(), id)
    await server.engine.workflows.remove(id)
    await type(page, "First", "survives")
    await stateIs(page, "gone")
    await page.getByRole("button", { name: "Save as a new workflow" }).click()
    const found = async () => {
      const { items } = await server.engine.workflows.list({ search: "gone" })
      return items.length === 0 ? [] : stored(items[0]!.id)
    }
    await expect.poll(found).toEqual(["survives", "b"])
  })
})
