/**
 * The inspector, the problems and the table of nodes in a real browser, against a real server.
 */
import type { Theme } from "@millrace/react"
import type { WorkflowDocument } from "millrace"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { openEditors } from "./EditorPage.ts"
import {
  at,
  calls,
  control,
  field,
  inputsOf,
  isFocused,
  many,
  nodeOf,
  press,
  slowestKey,
  story,
  tabTo,
} from "./InspectorPage.ts"
import { findingsOf, overflowOf } from "./PageAudit.ts"
import type { ShownInspector } from "./page/InspectorHost.tsx"
import type { Look } from "./Stage.ts"
import { stage } from "./Stage.ts"

/**
 * How long a key may take to be seen. `BROWSER_LATE_MILLIS` sets it. On a machine of its own 50
 * must hold while somebody types without a pause.
 */
const lateMillis = Number(process.env["BROWSER_LATE_MILLIS"] ?? 10_000)

const open = (inspector: ShownInspector, look: Look = {}, theme: Theme = "light") =>
  stage.show({ inspector, theme }, look)

const made = async (document: WorkflowDocument = story): Promise<string> =>
  (await stage.server.engine.workflows.create(document)).id

/** A workflow that has run. */
const ran = async () => {
  const workflowId = await made()
  const run = await stage.server.engine.runs.start({ workflowId })
  await run.wait()
  return { workflowId, lastRunId: run.id }
}

/** Answers to such requests wait until they are let through. */
const holdBack = async (page: Page, address: string) => {
  const { promise: isOver, resolve } = Promise.withResolvers<void>()
  await page.route(address, async (route) => {
    await isOver
    await route.continue()
  })
  return async () => {
    resolve()
    await page.unrouteAll({ behavior: "wait" })
  }
}

const bar = (page: Page) => page.locator(".editor > :last-child").getByRole("button").first()

const valueIs = async (page: Page, port: string, value: unknown) =>
  await expect.poll(async () => (await inputsOf(page, "form"))?.[port]).toEqual(value)

export const inspectorFacts = () => {
  describe("Inspector", () => {
    it("takes a value in the form that its schema asks for", async () => {
      const { done, page } = await open({ workflowId: await made(), nodeId: "form" })
      await control(page, "text").fill("two")
      await valueIs(page, "text", "two")
      await field(page, "inputs/count").getByRole("textbox").fill("12")
      await valueIs(page, "count", 12)
      await page.getByRole("combobox", { name: "isOn", exact: true }).selectOption("Yes")
      await valueIs(page, "isOn", true)
      await page.getByRole("combobox", { name: "color", exact: true }).selectOption("green")
      await valueIs(page, "color", "green")
      const headers = field(page, "inputs/headers")
      await headers.getByRole("button", { name: "Add an entry" }).click()
      await headers.getByRole("textbox", { name: "Name 1" }).fill("accept")
      await headers.getByLabel("Value of accept", { exact: true }).fill("text/plain")
      await valueIs(page, "headers", { accept: "text/plain" })
      const tags = field(page, "inputs/tags")
      await tags.getByRole("button", { name: "Add an entry" }).click()
      await tags.getByLabel("Entry 1", { exact: true }).fill("new")
      await valueIs(page, "tags", ["new"])
      await field(page, "inputs/any").locator(".cm-content").fill('{"a": [1]}')
      await valueIs(page, "any", { a: [1] })
      await tags.getByRole("button", { name: "Remove entry 1" }).click()
      await valueIs(page, "tags", undefined)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("completes names by keyboard, with the values of the last run", async () => {
      const { page } = await open({ ...(await ran()), nodeId: "send" })
      const text = control(page, "message")
      await text.fill("")
      await tabTo(page, text)
      await page.keyboard.type("I {{ fo")
      const offers = page.getByRole("listbox", { name: "Names" })
      await offers.getByRole("option", { name: /^form/, selected: true }).waitFor()
      await press(page, "Enter", ".")
      await offers.getByRole("option", { name: /^output.*said one/ }).waitFor()
      await press(page, "Enter", ".")
      await offers.getByRole("option", { name: /^said string/, selected: true }).waitFor()
      await press(page, "ArrowDown")
      expect(await text.getAttribute("aria-activedescendant")).toBe(
        await offers.getByRole("option", { selected: true }).getAttribute("id"),
      )
      await press(page, "ArrowUp", "Enter")
      expect(await text.inputValue()).toBe("I {{ form.output.said }}")
      await page.getByText('In the last run: "I said one"').waitFor()
      await press(page, "End", "Control+ ")
      await offers.getByRole("option", { name: /^run/ }).waitFor()
      await press(page, "Escape")
      await offers.waitFor({ state: "detached" })
      expect(await text.inputValue()).toBe("I {{ form.output.said }}")
    })

    it("keeps what is not finished, lists it, and leads back to it", async () => {
      const { page } = await open({ workflowId: await made(), nodeId: "form" })
      const count = field(page, "inputs/count").getByRole("textbox")
      await count.fill("12a")
      await page.getByText("This is not a number").waitFor()
      expect(await count.getAttribute("aria-invalid")).toBe("true")
      const about = (await count.getAttribute("aria-describedby"))!.split(" ")
      const said = about.map((id) => page.locator(`[id="${id}"]`).textContent())
      expect((await Promise.all(said)).join(" ")).toMatch(/How many.*This is not a number/)
      await field(page, "inputs/any").locator(".cm-content").fill('{"a": ')
      await page.locator('[data-row="send"]').click()
      await page.getByRole("heading", { name: "Send" }).waitFor()
      await bar(page).click()
      await page.getByRole("button", { name: /“count” is not finished/ }).click()
      await page.getByRole("heading", { name: "Form" }).waitFor()
      expect(await count.inputValue()).toBe("12a")
      await expect.poll(() => isFocused(count)).toBe(true)
      expect(await field(page, "inputs/any").locator(".cm-content").textContent()).toBe('{"a": ')
      await count.fill("12")
      await field(page, "inputs/any").locator(".cm-content").fill("")
      await expect
        .poll(async () => (await nodeOf(page, "form"))?.data)
        .toEqual({
          inputs: { text: "one", count: 12 },
        })
    })

    it("shows what changes elsewhere, and keeps what is being typed", async () => {
      const { page } = await open({ workflowId: await made(), nodeId: "form" })
      const set = (port: string, value: unknown) =>
        page.evaluate(
          (change) => {
            const told = window as unknown as { onCommand: (command: object) => void }
            told.onCommand({ type: "setInput", nodeId: "form", ...change })
          },
          { port, value },
        )
      const [text, count] = [control(page, "text"), control(page, "count")]
      await count.fill("12")
      await valueIs(page, "count", 12)
      await set("count", 7)
      await expect.poll(() => count.inputValue()).toBe("7")
      // Both within the pause after a key.
      await page.evaluate(() => {
        const told = window as unknown as { onCommand: (command: object) => void }
        const area = document.querySelector<HTMLTextAreaElement>(
          '[data-field="inputs/text"] textarea',
        )!
        area.focus()
        // As a key does: React has not seen this value yet.
        Reflect.set(HTMLTextAreaElement.prototype, "value", "one two", area)
        area.dispatchEvent(new Event("input", { bubbles: true }))
        told.onCommand({ type: "setInput", nodeId: "form", port: "text", value: "theirs" })
      })
      expect(await text.inputValue()).toBe("one two")
      await valueIs(page, "text", "one two")
    })

    it("completes names within JSON, too, however late it learns them", async () => {
      const { page } = await stage.show({ editors: [] })
      const letThrough = await holdBack(page, "**/validate*")
      await open({ ...(await ran()), nodeId: "send" })
      const any = field(page, "inputs/input")
      await any.getByLabel("How input is given").selectOption("JSON")
      const text = any.locator(".cm-content")
      await text.click()
      await page.keyboard.type('{ "a": "{{ form.no')
      await letThrough()
      await page.getByRole("option", { name: /^note string.*a note/, selected: true }).waitFor()
      await press(page, "Enter", "End")
      await page.keyboard.type('"}')
      const isTyped = async () => (await inputsOf(page, "send"))?.["input"]
      await expect.poll(isTyped).toEqual({ a: "{{ form.note }}" })
    })

    it("joins an input from a list, shows where it comes from, and unlinks it", async () => {
      const { page } = await open({ workflowId: await made(), nodeId: "send" })
      const message = field(page, "inputs/message")
      await message.getByLabel("How message is given").selectOption("From a node")
      await message.getByLabel("Node", { exact: true }).selectOption("form")
      const refused = message.getByLabel("Output", { exact: true }).locator("option[disabled]")
      await expect
        .poll(() => refused.allTextContents())
        .toContain("output: What output (object) gives can never be what message (string) takes.")
      await message.getByRole("button", { name: "Link", exact: true }).click()
      await message.getByText("From Form, output note").waitFor()
      await message.getByText("Used if the edge brings nothing").waitFor()
      await message.getByRole("button", { name: "Unlink note of Form" }).click()
      await message.getByText("From Form, output note").waitFor({ state: "detached" })
    })

    it("runs a node alone, and asks before it changes something outside", async () => {
      const { lastRunId, workflowId } = await ran()
      calls.length = 0
      const { done, page } = await open({ workflowId, lastRunId, nodeId: "send" })
      await page.getByText("Last run").click()
      await page.locator(".cm-content", { hasText: "sent hello" }).waitFor()
      await control(page, "message").fill("again")
      await page.getByRole("button", { name: "Try this node" }).click()
      await page.getByText("It does so now, too").waitFor()
      await press(page, "Escape")
      expect(calls).toEqual([])
      await page.getByRole("button", { name: "Try this node" }).click()
      await page.getByRole("button", { name: "Run it", exact: true }).click()
      await page.locator(".cm-content", { hasText: "sent again" }).waitFor()
      expect(calls).toEqual(["again"])
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("changes the version of a node, and adds nodes of the latest", async () => {
      const nodes = [{ id: "old", type: "stamp", position: at(0) }]
      const workflowId = await made({ name: "x", nodes })
      const { done, page } = await open({ workflowId, nodeId: "old" })
      const version = page.getByRole("combobox", { name: "Version of its type" })
      expect(await version.inputValue()).toBe("1")
      await page.getByText("Version 2 takes ink.").waitFor()
      expect(await field(page, "inputs/ink").count()).toBe(0)
      expect(await findingsOf(page)).toEqual([])
      await version.selectOption("2")
      await field(page, "inputs/ink").waitFor()
      await expect.poll(async () => (await nodeOf(page, "old"))?.data).toEqual({ version: 2 })
      const types = page.getByRole("combobox", { name: "Add a node" })
      expect(await types.getByRole("option", { name: "Stamp" }).count()).toBe(1)
      await types.selectOption("Stamp")
      await page.getByRole("button", { name: "Add", exact: true }).click()
      await expect.poll(async () => (await nodeOf(page, "stamp"))?.data).toEqual({ version: 2 })
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("shows a node whose type is gone, and one with 100 kB, without hindrance", async () => {
      const large = "x".repeat(100_000)
      const nodes = [
        { id: "old", type: "gone", position: at(0), data: { inputs: { a: 1 }, mode: "m" } },
        {
          id: "form",
          type: "form",
          position: at(1),
          data: { inputs: { text: large, any: [large], old: 1 } },
        },
      ]
      const { page } = await open({ workflowId: await made({ name: "x", nodes }), nodeId: "old" })
      await page.getByText("no node type “gone”").waitFor()
      await field(page, "inputs/a").locator(".cm-content", { hasText: "1" }).waitFor()
      await page.locator('[data-row="form"]').click()
      await field(page, "inputs/old").getByText("no such input").waitFor()
      const text = control(page, "text")
      await text.focus()
      await press(page, "Control+End")
      const millis = await slowestKey(page, "abc")
      const isTyped = async () => (await inputsOf(page, "form"))?.["text"] === `${large}abc`
      await expect.poll(isTyped).toBe(true)
      await field(page, "inputs/any").locator(".cm-content").focus()
      await press(page, "Control+Home")
      const ofJson = await slowestKey(page, "[1,")
      await press(page, "Control+End")
      await page.keyboard.type("]")
      const isNested = async () => Array.isArray((await inputsOf(page, "form"))?.["any"])
      await expect.poll(isNested).toBe(true)
      expect(Math.max(millis, ofJson)).toBeLessThan(lateMillis)
    })
  })

  describe("WorkflowEditor", () => {
    it("leads to what is not finished in place of running, and undoes it", async () => {
      const workflowId = await made()
      const { done, page } = await openEditors({ editors: [workflowId] })
      await page.getByRole("tab", { name: "Nodes" }).click()
      await page.locator('[data-row="form"]').click()
      await page.getByRole("button", { name: "Edit Form" }).press("Enter")
      const title = page.getByRole("heading", { name: "Form" })
      await expect.poll(() => isFocused(title)).toBe(true)
      const count = control(page, "count")
      await count.fill("12a")
      await press(page, "Control+s")
      await page.getByText("Saved", { exact: true }).waitFor()
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await expect.poll(() => isFocused(count)).toBe(true)
      expect((await stage.server.engine.runs.list({ workflowId })).items).toEqual([])
      // Nothing typed is lost with the page.
      await page.reload()
      await page.locator('[data-row="form"], [role="tab"]').first().waitFor()
      await page.getByRole("tab", { name: "Nodes" }).click()
      await page.locator('[data-row="form"]').click()
      expect(await count.inputValue()).toBe("12a")
      await count.fill("12")
      await press(page, "Tab")
      await page.getByRole("button", { name: "Undo" }).click()
      await expect.poll(() => count.inputValue()).toBe("")
      await page.getByRole("button", { name: "Undo" }).click()
      await expect.poll(() => count.inputValue()).toBe("12a")
      await page.getByRole("button", { name: "Close the inspector" }).press("Enter")
      await expect.poll(() => isFocused(page.locator('[data-row="form"]'))).toBe(true)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })
  })

  describe("Typing beside 500 nodes with problems everywhere", () => {
    it("is drawn at once, also while the canvas and the table follow", async () => {
      const { page } = await openEditors({ editors: [await made(many)] })
      const bar = page.getByRole("button", { name: /problems/ })
      await bar.waitFor()
      await page.getByRole("tab", { name: "Nodes" }).click()
      await page.locator('[data-row="n250"]').click()
      const text = control(page, "text")
      for (const tab of ["Nodes", "Canvas"]) {
        await page.getByRole("tab", { name: tab }).click()
        await text.focus()
        const fast = await slowestKey(page, "Typed fast")
        // With pauses, after each of which the whole page is drawn.
        const slow = await slowestKey(page, "slo", 250)
        expect(Math.max(fast, slow)).toBeLessThan(lateMillis)
      }
    })
  })

  describe("NodesTable", () => {
    it("adds, renames, joins, duplicates and removes nodes by keyboard alone", async () => {
      const { done, page } = await open(
        { workflowId: await made({ name: "Empty" }) },
        { viewport: { width: 390, height: 844 } },
      )
      const type = page.getByLabel("Add a node")
      await tabTo(page, type)
      await type.selectOption({ label: "Form" })
      await tabTo(page, page.getByRole("button", { name: "Add", exact: true }))
      await press(page, "Enter")
      const row = page.locator('[data-row="form"]')
      await expect.poll(() => isFocused(row)).toBe(true)
      const name = page.getByRole("region", { name: "Nodes" }).getByLabel("Name", { exact: true })
      await tabTo(page, name)
      await page.keyboard.type("First مرحبا")
      await press(page, "Enter")
      await row.getByText("First مرحبا").waitFor()
      await tabTo(page, page.getByRole("button", { name: "Duplicate First مرحبا" }))
      await press(page, "Enter")
      const copy = page.locator('[data-row="form_2"]')
      await expect.poll(() => isFocused(copy)).toBe(true)
      await page.getByLabel("To node").selectOption("form")
      await page.getByLabel("To input").selectOption("any")
      await tabTo(page, page.getByRole("button", { name: "Join", exact: true }))
      await press(page, "Enter")
      await page.getByText("output to First مرحبا, input any").waitFor()
      // A cycle cannot be chosen.
      await row.focus()
      await press(page, "Enter")
      await page.getByLabel("To node").selectOption("form_2")
      const allowed = page.getByLabel("To input").locator("option:not([disabled])")
      await expect.poll(() => allowed.count()).toBe(1)
      await tabTo(page, page.getByRole("button", { name: /^Remove the edge/ }))
      await press(page, "Enter")
      await page.getByText("No edges lead").waitFor()
      await tabTo(page, page.getByRole("region", { name: "Nodes" }).getByRole("checkbox"))
      await press(page, "Space")
      await row.getByText("Disabled").waitFor()
      await tabTo(page, page.getByRole("button", { name: "Remove First مرحبا" }))
      await press(page, "Enter")
      await row.waitFor({ state: "detached" })
      await expect.poll(() => isFocused(copy)).toBe(true)
      await press(page, "Enter")
      await page.getByRole("button", { name: /^Edit/ }).click()
      await page.getByRole("heading", { name: "First مرحبا" }).waitFor()
      expect(await overflowOf(page)).toBe(0)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    const looks = [
      ["light", "light", {}],
      ["dark", "dark", {}],
      [
        "dark, on a phone",
        "system",
        { viewport: { width: 390, height: 844 }, colorScheme: "dark" },
      ],
    ] as const

    it.each(looks)(
      "has no barrier that axe finds, with the inspector: %s",
      async (look, theme, options) => {
        const { page } = await open({ ...(await ran()), nodeId: "form" }, options, theme)
        await field(page, "inputs/any").locator(".cm-content").waitFor()
        for (const title of ["Attempts and failure", "Outputs", "Last run"])
          await page.getByText(title, { exact: true }).click()
        await page.locator(".cm-content", { hasText: "said one" }).waitFor()
        await field(page, "inputs/count").getByRole("textbox").fill("12a")
        await field(page, "inputs/headers").getByRole("button", { name: "Add an entry" }).click()
        await field(page, "inputs/tags").getByLabel("How tags is given").selectOption("From a node")
        const text = control(page, "text")
        await text.fill("{{ ")
        await page.getByRole("listbox").waitFor()
        expect(await findingsOf(page, { onlyColors: look === "dark" })).toEqual([])
        await text.press("Escape")
        await bar(page).click()
        // The list of problems is the same in each look.
        expect(look === "light" ? await findingsOf(page) : []).toEqual([])
        expect(await overflowOf(page)).toBe(0)
        // As with 400 % on a desktop.
        await page.setViewportSize({ width: 320, height: 256 })
        expect(await overflowOf(page)).toBe(0)
      },
    )
  })
}
