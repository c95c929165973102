/**
 * The canvas of the editor in a real browser: gestures, keys, barriers, and large graphs.
 */
import type { WorkflowDocument } from "millrace"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import {
  choose,
  drag,
  edgesOf,
  middleOf,
  nodeAt,
  openEditors,
  portAt,
  saved,
} from "./EditorPage.ts"
import { findingsOf, overflowOf } from "./PageAudit.ts"
import { resets } from "./Resets.ts"
import type { Look } from "./Stage.ts"
import { stage } from "./Stage.ts"

const lateMillis = Number(process.env["BROWSER_LATE_MILLIS"] ?? 10_000)

const gateAt = (id: string, label: string, column: number, row = 0) => ({
  id,
  type: "gate",
  position: { x: 40 + 360 * column, y: 40 + 240 * row },
  data: { label, inputs: { name: id } },
})

/** Three gates, two of them joined. */
const drawing = (name: string): WorkflowDocument => ({
  name,
  nodes: [gateAt("a", "First", 0), gateAt("b", "Second", 1), gateAt("c", "Third", 1, 1)],
  edges: [{ id: "e", source: "a", sourceHandle: "output", target: "b", targetHandle: "input" }],
})

const open = async (document: WorkflowDocument) => {
  const { id } = await stage.server.engine.workflows.create(document)
  const opened = await openEditors({ editors: [id] })
  return { ...opened, id, read: () => stage.server.engine.workflows.get(id) }
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click()

/** Takes back every step, and waits until the server has that. */
export const undone = async (
  page: Page,
  document: WorkflowDocument,
  read: () => Promise<object>,
) => {
  const undo = page.getByRole("button", { name: "Undo", exact: true })
  while (await undo.isEnabled()) await undo.click()
  await saved(page)
  await expect.poll(read).toMatchObject(document)
}

export const canvasFacts = () => {
  describe("Canvas", () => {
    it("saves what is dragged, moved by keys, reconnected and removed, and undoes it", async () => {
      const document = drawing("gestures")
      const { done, page, read } = await open(document)
      const { x, y } = await middleOf(nodeAt(page, "First"))
      await drag(page, nodeAt(page, "First").locator("strong"), { x: x + 10, y: y + 60 })
      await nodeAt(page, "Third").focus()
      await page.keyboard.press("Enter")
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("Shift+ArrowDown")
      await saved(page)
      const { nodes } = await read()
      expect(nodes[0]!.position.y).toBeGreaterThan(60)
      expect(nodes[2]!.position).toEqual({ x: 405, y: 300 })
      // The end of an edge is taken to another port.
      const end = await middleOf(portAt(page, "Input", "input", "Second"))
      await page.mouse.move(end.x - 24, end.y)
      await page.mouse.down()
      const other = await middleOf(portAt(page, "Input", "input", "Third"))
      await page.mouse.move(other.x - 40, other.y - 20, { steps: 5 })
      await page.mouse.move(other.x, other.y, { steps: 5 })
      await page.mouse.up()
      await expect.poll(async () => (await read()).edges[0]!.target).toBe("c")
      await edgesOf(page).first().focus()
      await page.keyboard.press("Delete")
      await edgesOf(page).first().waitFor({ state: "detached" })
      await saved(page)
      expect((await read()).edges).toEqual([])
      await undone(page, document, read)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("selects several, copies, pastes, duplicates, renames and disables", async () => {
      const document = drawing("copies")
      const { done, page, read } = await open(document)
      const selected = page.locator(".react-flow__node.selected")
      await nodeAt(page, "First").locator("strong").click()
      await nodeAt(page, "Third")
        .locator("strong")
        .click({ modifiers: ["Shift"] })
      await expect.poll(() => selected.count()).toBe(2)
      const [from, to] = [nodeAt(page, "First"), nodeAt(page, "Second")]
      const [left, right] = [(await from.boundingBox())!, (await to.boundingBox())!]
      // Somebody has clicked into a text before.
      await page.evaluate(() => getSelection()!.setPosition(window.document.body, 0))
      await page.keyboard.down("Shift")
      await page.mouse.move(left.x - 10, left.y - 10)
      await page.mouse.down()
      await page.mouse.move(right.x + right.width + 10, right.y + right.height + 10, { steps: 5 })
      await page.mouse.up()
      await page.keyboard.up("Shift")
      await expect.poll(() => selected.count()).toBe(2)
      await page.keyboard.press("Control+c")
      await page.keyboard.press("Control+v")
      await page.getByText("2 nodes were pasted.").waitFor()
      await page.keyboard.press("Control+d")
      await saved(page)
      const { edges, nodes } = await read()
      expect([nodes.length, edges.length]).toEqual([7, 3])
      const clipboard = await page.evaluate(() => navigator.clipboard.readText())
      expect(JSON.parse(clipboard)).toMatchObject({ millrace: "nodes" })
      await nodeAt(page, "Third").focus()
      await page.keyboard.press("Escape")
      await page.keyboard.press("F2")
      await page.keyboard.type("Renamed")
      await page.keyboard.press("Enter")
      await nodeAt(page, "Renamed").waitFor()
      await page.keyboard.press("e")
      await nodeAt(page, "Renamed").getByText("Disabled").waitFor()
      await saved(page)
      expect((await read()).nodes[2]!.data).toMatchObject({ label: "Renamed", disabled: true })
      await page.keyboard.press("Control+a")
      await page.keyboard.press("Delete")
      await nodeAt(page, "First").first().waitFor({ state: "detached" })
      await page.keyboard.press("Control+z")
      await nodeAt(page, "Renamed").waitFor()
      await undone(page, document, read)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("selects several, moves and aligns them without dragging and without a key", async () => {
      const document = drawing("taps")
      const { done, page, read } = await open(document)
      await press(page, "Select several: taps and clicks add to the selection, a drag draws a box")
      await nodeAt(page, "Second").locator("strong").click()
      await nodeAt(page, "Third").locator("strong").click()
      const selected = page.locator(".react-flow__node.selected")
      await expect.poll(() => selected.count()).toBe(2)
      await press(page, "Move, align and distribute what is selected")
      await press(page, "Move to the right")
      await press(page, "Move down")
      await press(page, "Align top edges")
      await saved(page)
      expect((await read()).nodes.map(({ position: { x, y } }) => [x, y])).toEqual([
        [40, 40],
        [424, 64],
        [424, 64],
      ])
      await undone(page, document, read)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("puts a frame around nodes, which takes them along where it is moved", async () => {
      const document = drawing("frames")
      const { done, id, page, read } = await open(document)
      await nodeAt(page, "Second").locator("strong").click()
      await nodeAt(page, "Third")
        .locator("strong")
        .click({ modifiers: ["Shift"] })
      await page.keyboard.press("g")
      const frame = nodeAt(page, "Group")
      await frame.getByText("A frame around 2 nodes").waitFor()
      const [around, inside] = [(await frame.boundingBox())!, nodeAt(page, "Third")]
      const box = (await inside.boundingBox())!
      expect(around.x).toBeLessThan(box.x)
      expect(around.y + around.height).toBeGreaterThan(box.y + box.height)
      const { x, y } = await middleOf(frame.locator("strong"))
      await drag(page, frame.locator("strong"), { x: x + 30, y: y - 40 })
      await saved(page)
      const moved = (await read()).nodes.map(({ position }) => position)
      const by = { x: moved[1]!.x - 400, y: moved[1]!.y - 40 }
      expect(moved[0]).toEqual({ x: 40, y: 40 })
      expect(moved[2]).toEqual({ x: 400 + by.x, y: 280 + by.y })
      expect([by.x > 0, by.y < 0]).toEqual([true, true])
      // To a server, a frame is a note.
      expect((await stage.server.engine.workflows.validate(id)).problems).toEqual([])
      expect(await findingsOf(page)).toEqual([])
      await undone(page, document, read)
      await expect.poll(() => frame.count()).toBe(0)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("adds a node where a connection is let go, and says what does not fit", async () => {
      const { done, page, read } = await open(drawing("drops"))
      const output = portAt(page, "Output", "output", "Second")
      const area = (await page.locator(".react-flow__pane").boundingBox())!
      await drag(page, output, { x: area.x + area.width - 60, y: area.y + 60 })
      await choose(page, "shout")
      await saved(page)
      const { edges, nodes } = await read()
      expect(nodes[3]!.type).toBe("shout")
      expect(edges[1]).toMatchObject({ source: "b", target: nodes[3]!.id, targetHandle: "text" })
      // Anywhere on a node is as good as its first port that fits.
      await drag(
        page,
        portAt(page, "Output", "output", "First"),
        await middleOf(nodeAt(page, "Third")),
      )
      await page.getByText("First now leads to Third.").waitFor()
      await drag(page, output, await middleOf(portAt(page, "Input", "input", "First")))
      await page.getByText("This would make a circle: First already leads to Second.").waitFor()
      await portAt(page, "Output", "output", "Third").click()
      const target = portAt(page, "Input", "input", "Second")
      expect(await target.getAttribute("aria-disabled")).toBe("true")
      expect(await target.getAttribute("title")).toMatch(/Only one edge may lead to input/)
      await page.keyboard.press("Escape")
      expect(await target.getAttribute("aria-disabled")).toBe("false")
      await saved(page)
      expect((await read()).edges).toHaveLength(3)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("draws node types of the application, with fields of its own", async () => {
      const { done, page, read } = await open({ name: "own" })
      await press(page, "Add a node")
      await choose(page, "shout")
      await nodeAt(page, "Drawn by the application: Shout").waitFor()
      await page.getByLabel("mark", { exact: true }).selectOption("Loud")
      await saved(page)
      await expect
        .poll(async () => (await read()).nodes[0]!.data)
        .toMatchObject({ inputs: { mark: "!" } })
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("uses no key while somebody types, nor once keys are switched off", async () => {
      const { page, read } = await open(drawing("keys"))
      await nodeAt(page, "First").locator("strong").dblclick()
      await page.keyboard.type("a/f?e")
      await page.keyboard.press("Backspace")
      await page.keyboard.press("Enter")
      await nodeAt(page, "a/f?").waitFor()
      expect(await page.getByRole("combobox", { name: "Search node types" }).count()).toBe(0)
      await page.keyboard.press("?")
      await page.getByRole("checkbox", { name: "Use these keys" }).uncheck()
      await page.keyboard.press("Escape")
      await page.getByRole("dialog").waitFor({ state: "detached" })
      await nodeAt(page, "a/f?").focus()
      await page.keyboard.press("Delete")
      await page.keyboard.press("/")
      await saved(page)
      expect((await read()).nodes).toHaveLength(3)
      expect(await page.getByRole("combobox", { name: "Search node types" }).count()).toBe(0)
    })

    it("lets viewers look at everything and change nothing", async () => {
      const document = drawing("viewer")
      const { id } = await stage.server.engine.workflows.create(document)
      const { done, page } = await openEditors({ editors: [id], readOnly: true })
      const first = nodeAt(page, "First")
      const { x, y } = await middleOf(first)
      await drag(page, first.locator("strong"), { x: x + 10, y: y + 60 })
      await first.focus()
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "First" }).waitFor()
      for (const key of ["Delete", "e", "/", "F2", "ArrowRight", "Control+d", "Control+x"])
        await page.keyboard.press(key)
      const editable = page.locator(
        "input:not([readonly]):not([disabled]), textarea:not([readonly])",
      )
      expect(await editable.count()).toBe(0)
      for (const name of ["Add a node", "Run", "Undo"])
        expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0)
      expect(await stage.server.engine.workflows.get(id)).toMatchObject(document)
      const written = done.calls.filter((call) => call.method() !== "GET")
      expect(written.map((call) => call.url()).filter((url) => !url.endsWith("/validate"))).toEqual(
        [],
      )
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("has no barrier that axe finds: light, dark, and on a phone", async () => {
      const { id } = await stage.server.engine.workflows.create(drawing("axe"))
      const look = async (theme: "light" | "dark" | "system", options: Look = {}) => {
        const { done, page } = await openEditors({ editors: [id], theme }, options)
        await nodeAt(page, "First").focus()
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "First" }).waitFor()
        await press(page, "Add a node")
        await page.getByRole("option").first().waitFor()
        expect(await findingsOf(page, { onlyColors: theme === "dark" }), theme).toEqual([])
        expect(await overflowOf(page)).toBe(0)
        expect(done).toMatchObject({ errors: [], foreign: [] })
        return page
      }
      const page = await look("light")
      await page.keyboard.press("Escape")
      await press(page, "Keys")
      expect(await findingsOf(page), "keys").toEqual([])
      await look("dark")
      await look("system", { viewport: { width: 390, height: 844 }, colorScheme: "dark" })
    })

    it("shows what a node did in the last run of the workflow, whoever started it", async () => {
      const shout = { id: "s", type: "shout", position: { x: 40, y: 40 } }
      const said = { ...shout, data: { inputs: { text: "hello" } } }
      const { id } = await stage.server.engine.workflows.create({
        name: "ran",
        nodes: [said],
        edges: [],
      })
      await (await stage.server.engine.runs.start({ workflowId: id })).wait()
      const { page } = await openEditors({ editors: [id] })
      await nodeAt(page, "Shout").focus()
      await page.keyboard.press("Enter")
      await page.getByText("Last run", { exact: true }).click()
      const values = page.locator(".cm-content", { hasText: "HELLO" })
      await values.first().waitFor()
      expect(await values.first().textContent()).toContain('"HELLO"')
    })

    it("keeps its view while the table of nodes is shown in its place", async () => {
      const { page } = await open(drawing("tabs"))
      await press(page, "Zoom in")
      const stage = page.locator(".react-flow")
      const view = () => page.locator(".react-flow__viewport").getAttribute("style")
      const before = await view()
      await page.getByRole("tab", { name: "Nodes" }).click()
      await page.locator("[data-row=c]").waitFor()
      const hidden = await stage.evaluate((element) => {
        const inert = element.closest("[inert]")
        return inert !== null && getComputedStyle(inert).opacity === "0"
      })
      expect(hidden).toBe(true)
      await page.getByRole("tab", { name: "Canvas" }).click()
      expect(await stage.evaluate((element) => element.closest("[inert]"))).toBe(null)
      expect(await view()).toBe(before)
    })

    it("looks the same under the resets of Tailwind and of Bootstrap", async () => {
      const { id } = await stage.server.engine.workflows.create(drawing("resets"))
      const looks = async (css: string) => {
        const { page } = await openEditors({ editors: [id], css })
        await nodeAt(page, "First").focus()
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "First" }).waitFor()
        await page.getByText("Last run", { exact: true }).waitFor()
        await page.getByText(/^About \d+ credits?$/).waitFor()
        await press(page, "Add a node")
        await page.getByRole("option").first().waitFor()
        return page.evaluate(() =>
          Array.from(document.querySelectorAll("[data-millrace-theme] *"), (element) => {
            const { height, width, x, y } = element.getBoundingClientRect()
            const style = getComputedStyle(element)
            const shown = [style.color, style.fontSize, style.borderTopWidth, style.borderTopColor]
            const place = [x, y, width, height].map(Math.round)
            const name = element.getAttribute("class") ?? element.textContent?.slice(0, 20)
            return [element.tagName, name, ...place, ...shown].join(" ")
          }),
        )
      }
      const plain = await looks("")
      expect(plain.length).toBeGreaterThan(200)
      expect(await looks(resets.tailwind)).toEqual(plain)
      expect(await looks(resets.bootstrap)).toEqual(plain)
    })

    it("works twice on one page", async () => {
      const ids = await Promise.all(
        ["left", "right"].map(async (name) => {
          const { id } = await stage.server.engine.workflows.create(drawing(name))
          return id
        }),
      )
      const { done, page } = await openEditors({ editors: ids })
      const second = page.getByRole("region", { name: "Editor of right" })
      await portAt(second, "Output", "output", "Second").click()
      await portAt(second, "Input", "input", "Third").click()
      await edgesOf(second).nth(1).waitFor({ state: "attached" })
      await second.getByText("Saved", { exact: true }).waitFor()
      const edges = ids.map(
        async (id) => (await stage.server.engine.workflows.get(id)).edges.length,
      )
      expect(await Promise.all(edges)).toEqual([1, 2])
      const doubled = await page.evaluate(() => {
        const all = [...document.querySelectorAll("[id]")].map(({ id }) => id)
        return all.filter((id, at) => all.indexOf(id) !== at)
      })
      expect(doubled).toEqual([])
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("draws 500 nodes and 475 edges, pans, and moves one", async () => {
      const nodes = Array.from({ length: 500 }, (_, at) =>
        gateAt(`n${at}`, `Node ${at}`, at % 25, Math.floor(at / 25)),
      )
      const edges = nodes.slice(25).map(({ id }, at) => ({
        id: `e${at}`,
        source: `n${at}`,
        sourceHandle: "output",
        target: id,
        targetHandle: "input",
      }))
      const { page, read } = await open({ name: "large", nodes, edges })
      await page.locator(".react-flow__node").first().waitFor({ state: "attached" })
      const area = (await page.locator(".react-flow__pane").boundingBox())!
      await page.mouse.move(area.x + 300, area.y + 300)
      await page.mouse.wheel(0, -1_600)
      await expect.poll(() => page.locator(".react-flow__node").count()).toBeLessThan(100)
      const millis = await page.evaluate(async () => {
        const from = performance.now()
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
        return performance.now() - from
      })
      expect(millis).toBeLessThan(lateMillis)
      await page.mouse.move(area.x + 300, area.y + 5)
      await page.mouse.down()
      await page.mouse.move(area.x + 200, area.y + 100, { steps: 10 })
      await page.mouse.up()
      const node = page.locator(".react-flow__node").first()
      const id = (await node.getAttribute("data-id"))!
      await node.focus()
      await page.keyboard.press("Enter")
      await page.keyboard.press("ArrowDown")
      await saved(page)
      const at = Number(id.slice(1))
      expect((await read()).nodes[at]!.position.y).toBe(nodes[at]!.position.y + 5)
    })
  })
}
