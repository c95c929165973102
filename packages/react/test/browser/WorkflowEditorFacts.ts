/**
 * The editor in a real browser, against a real server: by mouse, by keyboard alone, and by touch.
 */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import {
  choose,
  drag,
  editorsIn,
  edgesOf,
  fill,
  middleOf,
  nodeAt,
  openEditors,
  openGate,
  portAt,
  saved,
  swipe,
} from "./EditorPage.ts"
import { overflowOf } from "./PageAudit.ts"
import { stage } from "./Stage.ts"

const emptyWorkflow = async (name: string): Promise<string> =>
  (await stage.server.engine.workflows.create({ name })).id

const stored = async (id: string) => {
  const { edges, nodes } = await stage.server.engine.workflows.get(id)
  return {
    nodes: nodes.map(({ type }) => type),
    edges: edges.map(({ source, sourceHandle, target, targetHandle }) =>
      [source, sourceHandle, target, targetHandle].join(" "),
    ),
  }
}

const three = {
  nodes: ["request", "gate", "shout"],
  edges: ["request values gate input", "gate output shout text"],
}

const stateOf = (page: Page, label: string, state: string) =>
  nodeAt(page, label).locator(`[data-state="${state}"]`).first().waitFor()

/** Runs what is drawn: every state is seen, the error is read and mended, and all is undone. */
const runAndMend = async (page: Page, name: string, press: (label: string) => Promise<void>) => {
  await press("Run")
  await stateOf(page, "Request", "COMPLETED")
  await stateOf(page, "Gate", "RUNNING")
  await stateOf(page, "Shout", "PENDING")
  await openGate(`${name} quiet`)
  await stateOf(page, "Shout", "FAILED")
  await nodeAt(page, "Shout").focus()
  await page.keyboard.press("Enter")
  await page.getByRole("alert").getByText("This is too quiet to be heard").waitFor()
  await press("Back to editing")
  await nodeAt(page, "Gate").focus()
  await page.keyboard.press("Enter")
  await fill(page, "name", `${name} loud`)
  await saved(page)
  await press("Run")
  await openGate(`${name} loud`)
  await stateOf(page, "Shout", "COMPLETED")
  await press("Back to editing")
}

const undoAll = async (page: Page, id: string) => {
  const undo = page.getByRole("button", { name: "Undo", exact: true })
  while (await undo.isEnabled()) await undo.click()
  expect(await page.locator(".react-flow__node").count()).toBe(0)
  await saved(page)
  await expect.poll(() => stored(id)).toEqual({ nodes: [], edges: [] })
}

export const workflowEditorFacts = () => {
  describe("WorkflowEditor", () => {
    it("draws, joins, runs, mends and undoes by mouse", async () => {
      const id = await emptyWorkflow("by mouse")
      const { done, page } = await openEditors({ editors: [id] })
      await page.getByRole("button", { name: "Add a node", exact: true }).click()
      await choose(page, "request")
      await page.getByRole("button", { name: "Add a node", exact: true }).click()
      await choose(page, "gate")
      await fill(page, "name", "by mouse quiet")
      const input = portAt(page, "Input", "input", "Gate")
      await drag(page, portAt(page, "Output", "values", "Request"), await middleOf(input))
      await edgesOf(page).first().waitFor({ state: "attached" })
      await nodeAt(page, "Gate").hover()
      await page.getByRole("button", { name: "Add a node after output output of Gate" }).click()
      await choose(page, "shout")
      await saved(page)
      expect(await stored(id)).toEqual(three)
      await runAndMend(page, "by mouse", (label) =>
        page.getByRole("button", { name: label, exact: true }).click(),
      )
      await undoAll(page, id)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("draws, joins, runs, mends and undoes by keyboard alone", async () => {
      const id = await emptyWorkflow("by keyboard")
      const { done, page } = await openEditors({ editors: [id] })
      const focused = page.locator(":focus")
      const tabTo = async (name: RegExp, key = "Tab") => {
        for (let tries = 0; tries < 60; tries++) {
          await page.keyboard.press(key)
          const label = await focused.getAttribute("aria-label")
          if (name.test(`${label ?? (await focused.textContent())}`)) return
        }
        throw new Error(`${key} does not lead to ${name}`)
      }
      const add = async (words: string) => {
        await page.keyboard.press("/")
        await page.keyboard.type(words)
        await page.keyboard.press("Enter")
      }
      await tabTo(/^Add a node$/)
      await add("request")
      await nodeAt(page, "Request").waitFor()
      await expect.poll(() => focused.getAttribute("aria-label")).toMatch(/^Request/)
      await add("gate")
      await expect.poll(() => focused.getAttribute("aria-label")).toMatch(/^Gate/)
      await add("shout")
      await expect.poll(() => focused.getAttribute("aria-label")).toMatch(/^Shout/)
      const join = async (from: RegExp, to: RegExp, key = "Tab") => {
        await tabTo(from, "Shift+Tab")
        await page.keyboard.press("Enter")
        await tabTo(to, key)
        await page.keyboard.press("Enter")
      }
      await join(/^Output output of Gate/, /^Input text of Shout/)
      await join(/^Output values of Request/, /^Input input of Gate/)
      // An edge back is refused in a sentence that is read aloud.
      await tabTo(/^Output output of Shout/)
      await page.keyboard.press("Enter")
      await tabTo(/^Input input of Gate/, "Shift+Tab")
      await page.keyboard.press("Enter")
      const said = page.locator("[aria-live]", { hasText: "This would make a circle" })
      expect(await said.textContent()).toBe(
        "This would make a circle: Gate already leads to Shout.",
      )
      await page.keyboard.press("Escape")
      await tabTo(/^Gate/, "Shift+Tab")
      await page.keyboard.press("Enter")
      await fill(page, "name", "by keyboard quiet")
      await saved(page)
      expect(await stored(id)).toEqual({ ...three, edges: three.edges.toReversed() })
      await runAndMend(page, "by keyboard", async (label) => {
        await page.getByRole("button", { name: label, exact: true }).focus()
        await page.keyboard.press("Enter")
      })
      await nodeAt(page, "Request").focus()
      const count = page.locator(".react-flow__node")
      for (let tries = 0; tries < 40 && (await count.count()) > 0; tries++)
        await page.keyboard.press("Control+z")
      await undoAll(page, id)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("draws with the outputs of a past run, until they are unpinned", async () => {
      const at = (column: number) => ({ x: 40 + 360 * column, y: 40 })
      const gate = { id: "g", type: "gate", position: at(0), data: { inputs: { name: "pinned" } } }
      const nodes = [gate, { id: "s", type: "shout", position: at(1), data: {} }]
      const edges = [{ id: "e", source: "g", target: "s", targetHandle: "text" }]
      const { engine } = stage.server
      const { id } = await engine.workflows.create({ name: "pins", nodes, edges })
      await engine.workflows.publish(id)
      const run = await engine.runs.start({ workflowId: id })
      await openGate("pinned")
      await run.wait()
      const { done, page } = await stage.show({ runId: run.id })
      await page.getByRole("button", { name: "Open in editor with this data" }).click()
      await page.getByText("2 nodes are pinned").waitFor()
      await nodeAt(page, "Gate").and(page.locator("[aria-label*=Pinned]")).waitFor()
      await nodeAt(page, "Shout").focus()
      await page.keyboard.press("Enter")
      await page.getByRole("button", { name: "Unpin Shout" }).click()
      await page.getByText("1 node is pinned").waitFor()
      await page.getByRole("button", { name: "Run", exact: true }).click()
      // Nobody opens the gate: it is not executed.
      await stateOf(page, "Shout", "COMPLETED")
      const { items } = await engine.runs.list({ workflowId: id })
      const { nodes: ran } = await engine.runs.get(items[0]!.id)
      expect([ran["g"]!.attempt, ran["s"]!.attempt]).toEqual([0, 1])
      // What is published is the same here, and still the editor runs what it draws.
      expect(items.map(({ workflowVersion }) => workflowVersion)).toEqual([undefined, 1])
      await page.getByRole("button", { name: "Back to editing" }).click()
      await page.getByRole("button", { name: "Unpin all" }).click()
      await page.getByText("Nothing is pinned any more.").waitFor()
      // Pins are no part of the drawing.
      expect(done.calls.filter((call) => call.method() === "PATCH")).toEqual([])
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("draws, joins, runs, mends and undoes by touch on a phone", async () => {
      const id = await emptyWorkflow("by touch")
      const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
      const { done, page } = await editorsIn(await stage.openPage({ editors: [id] }, phone))
      const tap = (name: string) => page.getByRole("button", { name, exact: true }).tap()
      const add = async (words: string) => {
        await page.getByRole("combobox", { name: "Search node types" }).fill(words)
        await page.getByRole("option").first().tap()
      }
      await tap("Add a node")
      await add("request")
      expect(await overflowOf(page)).toBe(0)
      await tap("Add a node after output values of Request")
      await add("gate")
      await fill(page, "name", "by touch quiet")
      await tap("Close the inspector")
      await tap("Add a node")
      await add("shout")
      await tap("Close the inspector")
      await swipe(page, { x: 200, y: 450 }, { x: 260, y: 650 })
      await portAt(page, "Output", "output", "Gate").tap()
      await portAt(page, "Input", "text", "Shout").tap()
      await saved(page)
      expect((await stored(id)).nodes).toEqual(three.nodes)
      await runAndMend(page, "by touch", tap)
      await undoAll(page, id)
      expect(await overflowOf(page)).toBe(0)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })
  })
}
