/**
 * What somebody types in an editor is there afterwards: with two tabs, with two people, and with a
 * server that dies.
 */
import type { BrowserContext, Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { fill, nodeAt, openEditors, portAt, save, saved, savedByItself } from "./EditorPage.ts"
import { findingsOf, overflowOf } from "./PageAudit.ts"
import type { Asked, Look } from "./Stage.ts"
import { stage } from "./Stage.ts"

const gateAt = (id: string, label: string, column: number) => ({
  id,
  type: "gate",
  position: { x: 40 + 360 * column, y: 40 },
  data: { label, inputs: { name: id } },
})

export const makeWorkflow = async (name: string): Promise<string> => {
  const nodes = [gateAt("a", "First", 0), gateAt("b", "Second", 1)]
  return (await stage.server.engine.workflows.create({ name, nodes })).id
}

/** The names that the gates have on the server. */
const stored = async (id: string) =>
  (await stage.server.engine.workflows.get(id)).nodes.map(
    ({ data }) => (data as { readonly inputs: { readonly name: string } }).inputs.name,
  )

const openTab = async (context: BrowserContext, id: string, shown: Asked = {}) => {
  const page = await context.newPage()
  await page.goto(stage.addressOf({ editors: [id], user: "ada", ...shown }))
  await nodeAt(page, "First").waitFor()
  return page
}

/** As a user of the page that all tests share. */
const openHere = async (id: string, shown: Asked = {}, look: Look = {}) =>
  (await openEditors({ editors: [id], user: "ada", ...shown }, look)).page

export const type = async (page: Page, label: string, text: string) => {
  await nodeAt(page, label).focus()
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: label }).waitFor()
  await fill(page, "name", text)
}

/** What the field shows. */
export const typed = (page: Page) =>
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

const withoutSaves = (where: BrowserContext | Page) =>
  where.route("**/api/**", (route) =>
    route.request().method() === "PATCH" ? route.abort() : route.fallback(),
  )

export const savingFacts = () => {
  describe("Saving", () => {
    it("keeps what two tabs change in different nodes", async () => {
      const id = await makeWorkflow("tabs")
      const context = await stage.newContext()
      const [one, other] = [await openTab(context, id), await openTab(context, id)]
      await type(one, "First", "one")
      await type(other, "Second", "other")
      await expect.poll(() => stored(id)).toEqual(["one", "other"])
      await Promise.all([savedByItself(one), savedByItself(other)])
      await expect.poll(() => draftsIn(one)).toEqual([])
    })

    const looks = [
      ["light", {}],
      ["system", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
    ] as const

    it.each(looks)(
      "asks which one stays where two changed the same: %s",
      async (theme, options) => {
        const id = await makeWorkflow(`choice ${theme}`)
        const page = await openHere(id, { theme }, options)
        await withoutSaves(page)
        await type(page, "First", "mine")
        await save(page)
        await stateIs(page, "offline")
        const other = await stage.server.engine.workflows.get(id)
        const nodes = other.nodes.map((node) => ({
          ...node,
          data: { ...(node.data as object), inputs: { name: `theirs ${node.id}` } },
        }))
        await stage.server.engine.workflows.update(id, { nodes })
        await stateIs(page, "conflict")
        await page.unroute("**/api/**")
        expect(await stored(id)).toEqual(["theirs a", "theirs b"])
        await page.getByRole("button", { name: "Compare" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByText("Node First").waitFor()
        await dialog.getByText("1 choice is left.").waitFor()
        expect(await findingsOf(page)).toEqual([])
        expect(await overflowOf(page)).toBe(0)
        await choose(page, "Mine")
        await dialog.getByRole("button", { name: "Merge and save" }).click()
        await savedByItself(page)
        expect(await stored(id)).toEqual(["mine", "theirs b"])
      },
    )

    it("loses nothing typed when the server dies and the page is loaded again", async () => {
      const id = await makeWorkflow("dead")
      const context = await stage.newContext()
      const page = await openTab(context, id)
      await type(page, "First", "before")
      await saved(page)
      await stage.server.shut()
      await type(page, "First", "after")
      await stateIs(page, "offline")
      await page.getByText("kept in this browser until they are saved").waitFor()
      await page.route("**/api/**", (route) => route.abort())
      await stage.server.open()
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
      // Else the stream is back first, and then all is saved by itself.
      await page.route("**/live", (route) => route.abort())
      await page.getByRole("button", { name: "Try again" }).click()
      await savedByItself(page)
      expect(await stored(id)).toEqual(["after", "b"])
      expect(await draftsIn(page)).toEqual([])
      await portAt(page, "Output", "output", "First").waitFor()
    })

    it("keeps unsaved work for its user, over the end of the tab", async () => {
      const id = await makeWorkflow("users")
      const context = await stage.newContext()
      const page = await openTab(context, id)
      await withoutSaves(context)
      await type(page, "First", "by ada")
      await save(page)
      await stateIs(page, "offline")
      await page.close()
      const bob = await openTab(context, id, { user: "bob" })
      await nodeAt(bob, "First").focus()
      await bob.keyboard.press("Enter")
      expect(await typed(bob)).toBe("a")
      expect(await draftsIn(bob)).toHaveLength(1)
      await context.unroute("**/api/**")
      await savedByItself(await openTab(context, id))
      await expect.poll(() => stored(id)).toEqual(["by ada", "b"])
    })

    it("keeps unsaved work for the tab only, where nobody says who the user is", async () => {
      const id = await makeWorkflow("nobody")
      const context = await stage.newContext()
      const page = await context.newPage()
      await page.goto(stage.addressOf({ editors: [id] }))
      await nodeAt(page, "First").waitFor()
      await withoutSaves(context)
      await type(page, "First", "by somebody")
      await save(page)
      await stateIs(page, "offline")
      expect(await draftsIn(page)).toEqual([])
      const next = await context.newPage()
      await next.goto(stage.addressOf({ editors: [id] }))
      await nodeAt(next, "First").focus()
      await next.keyboard.press("Enter")
      expect(await typed(next)).toBe("a")
      await context.unroute("**/api/**")
      await page.reload()
      await nodeAt(page, "First").waitFor()
      await savedByItself(page)
      await expect.poll(() => stored(id)).toEqual(["by somebody", "b"])
    })

    it("offers a new workflow for one that was deleted", async () => {
      const id = await makeWorkflow("gone")
      const page = await openHere(id)
      await stage.server.engine.workflows.remove(id)
      await type(page, "First", "survives")
      await save(page)
      await stateIs(page, "gone")
      await page.getByRole("button", { name: "Save as a new workflow" }).click()
      const found = async () => {
        const { items } = await stage.server.engine.workflows.list({ search: "gone" })
        return items.length === 0 ? [] : stored(items[0]!.id)
      }
      await expect.poll(found).toEqual(["survives", "b"])
    })
  })
}
