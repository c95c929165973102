/**
 * Loops of the editor in a real browser: how their bodies are drawn and filled in.
 */
import type { WorkflowDocument } from "millrace"
import { describe, expect, it } from "vitest"
import { choose, drag, middleOf, openEditors, portAt, saved } from "./EditorPage.ts"
import { undone } from "./CanvasFacts.ts"
import { control, press, tabTo } from "./InspectorPage.ts"
import { findingsOf } from "./PageAudit.ts"
import { stage } from "./Stage.ts"

const at = (x: number, y: number) => ({ x, y })

const open = async (document: WorkflowDocument) => {
  const { id } = await stage.server.engine.workflows.create(document)
  const opened = await openEditors({ editors: [id] })
  return { ...opened, read: () => stage.server.engine.workflows.get(id) }
}

/** A loop with one node in it, between two others. */
const greetings: WorkflowDocument = {
  name: "Greetings",
  nodes: [
    { id: "words", type: "constant", position: at(0, 0), data: { inputs: { value: "Hello" } } },
    {
      id: "each",
      type: "for_each",
      position: at(400, 0),
      data: { inputs: { items: [{ name: "Ada" }, {}, { name: "Bob" }], onError: "continue" } },
    },
    {
      id: "greet",
      type: "constant",
      parentId: "each",
      position: at(180, 260),
      data: { inputs: { value: "{{ input }}, {{ each.item.name.trim() }}" } },
    },
    { id: "out", type: "response", position: at(1_200, 0) },
  ],
  edges: [
    { id: "e1", source: "words", target: "greet" },
    { id: "e2", source: "each", sourceHandle: "results", target: "out" },
  ],
}

export const loopFacts = () => {
  describe("Loops", () => {
    it("are frames: nodes are dragged in and out, and edges across go along", async () => {
      const { done, page, read } = await open(greetings)
      await page.getByRole("group", { name: "Constant, in loop For each" }).waitFor()
      expect(await findingsOf(page)).toEqual([])
      const frame = page.locator('.react-flow__node[data-id="each"]')
      const out = page.locator('.react-flow__node[data-id="out"]')
      const box = (await frame.boundingBox())!
      await drag(page, out.locator("strong"), {
        x: box.x + box.width - 60,
        y: box.y + box.height - 40,
      })
      await page.getByText("1 node now lies in loop For each. 1 edge cannot cross").waitFor()
      await saved(page)
      const inside = await read()
      expect(inside.nodes.find(({ id }) => id === "out")).toMatchObject({ parentId: "each" })
      expect(inside.edges.map(({ id }) => id)).toEqual(["e1"])
      const { x, y } = await middleOf(out)
      await drag(page, out.locator("strong"), { x, y: y + 300 })
      await page.getByText("1 node now lies in no loop.").waitFor()
      await undone(page, greetings, read)
      expect(done.errors).toEqual([])
    })

    it("collapse to one node, and expand for what is chosen in them", async () => {
      const { done, page } = await open(greetings)
      const inner = page.locator('.react-flow__node[data-id="greet"]')
      await inner.locator("strong").click()
      await page.getByRole("button", { name: "Collapse loop For each" }).click()
      await inner.waitFor({ state: "detached" })
      const expand = page.getByRole("button", { name: "Expand loop For each" })
      expect(await expand.evaluate((button) => button === document.activeElement)).toBe(true)
      await page.getByRole("group", { name: /For each, collapsed, with 1 node/ }).waitFor()
      expect(await page.locator(".react-flow__edge").count()).toBe(2)
      expect(await findingsOf(page)).toEqual([])
      await page.keyboard.press("Delete")
      await page.getByText("2 nodes removed.").waitFor()
      await page.keyboard.press("Control+z")
      await expand.focus()
      await page.keyboard.press("Enter")
      await inner.waitFor()
      await page.getByRole("button", { name: "Collapse loop For each" }).press("Enter")
      await inner.waitFor({ state: "detached" })
      await page.getByRole("tab", { name: "Nodes" }).click()
      await page.locator('[data-row="greet"]').click()
      await inner.waitFor({ state: "attached" })
      expect(done.errors).toEqual([])
    })

    it("take the nodes that are added in them, and leave with them", async () => {
      const { done, page, read } = await open({
        ...greetings,
        nodes: greetings.nodes!.slice(0, 2),
        edges: [],
      })
      await page.getByText("Drag nodes here").waitFor()
      await page.getByRole("button", { name: "Add a node in loop For each" }).click()
      await choose(page, "Constant")
      await portAt(page, "Output", "item", "For each").click()
      await page
        .getByRole("button", { name: "Add a node after output item of For each" })
        .waitFor({ state: "hidden" })
      await page.keyboard.press("Escape")
      await saved(page)
      const { nodes } = await read()
      expect(nodes.at(-1)).toMatchObject({ type: "constant", parentId: "each" })
      await page.locator('.react-flow__node[data-id="each"] strong').click()
      await page.keyboard.press("Delete")
      await page.getByText("2 nodes removed.").waitFor()
      await saved(page)
      expect((await read()).nodes.map(({ id }) => id)).toEqual(["words"])
      await page.keyboard.press("Control+z")
      await saved(page)
      expect((await read()).nodes).toEqual(nodes)
      expect(done.errors).toEqual([])
    })

    it("offer the nodes in them what the body sees, and not their outputs", async () => {
      const shout = { id: "shout", type: "form", parentId: "each", position: at(180, 460) }
      const { id: workflowId } = await stage.server.engine.workflows.create({
        ...greetings,
        nodes: [...greetings.nodes!, { ...shout, data: { inputs: { text: "x" } } }],
      })
      const { done, page } = await stage.show({ inspector: { workflowId, nodeId: "shout" } })
      const text = control(page, "text")
      await text.fill("")
      await tabTo(page, text)
      await page.keyboard.type("{{ ea")
      const offers = page.getByRole("listbox", { name: "Names" })
      await offers.getByRole("option", { name: /^each/, selected: true }).waitFor()
      await press(page, "Enter", ".")
      await offers.getByRole("option", { name: /^item/ }).waitFor()
      expect(await offers.getByRole("option").allTextContents()).toEqual([
        expect.stringMatching(/^item/),
        expect.stringMatching(/^index/),
      ])
      expect(done.errors).toEqual([])
    })
  })
}
