/**
 * What tests of the editor share: node types, a page with editors, and what a user does there.
 */
import { defineNode } from "millrace"
import type { Locator, Page } from "playwright-core"
import { expect } from "vitest"
import { z } from "zod"
import type { Asked, Look, Showing } from "./Stage.ts"
import { stage } from "./Stage.ts"

const gates = new Map<string, () => void>()

/** Ends when the test opens it, and puts out its name. */
const gate = defineNode({
  type: "gate",
  title: "Gate",
  category: "testing",
  inputs: { input: z.any().optional(), name: z.string() },
  outputs: { output: z.string() },
  run: async ({ inputs, signal }) => {
    await new Promise<void>((resolve, reject) => {
      gates.set(inputs.name, resolve)
      signal.addEventListener("abort", () => reject(new Error("interrupted")))
    })
    return { output: inputs.name }
  },
})

/** Fails with a text that is too quiet. */
const shout = defineNode({
  type: "shout",
  title: "Shout",
  category: "testing",
  inputs: { text: z.string(), mark: z.string().optional() },
  outputs: { output: z.string() },
  run: ({ inputs }) => {
    if (inputs.text.endsWith("quiet")) throw new Error("This is too quiet to be heard")
    return { output: inputs.text.toUpperCase() }
  },
})

export const editorNodes = [gate, shout]

/** Waits until a gate is at work, and opens it. */
export const openGate = async (name: string): Promise<void> => {
  await expect.poll(() => gates.has(name)).toBe(true)
  gates.get(name)!()
  gates.delete(name)
}

/** Waits until the editors are drawn. */
export const editorsIn = async (showing: Showing): Promise<Showing> => {
  await showing.page
    .getByRole("region", { name: /^Editor of/ })
    .first()
    .waitFor()
  return showing
}

/** The page with an editor for each workflow. */
export const openEditors = async (asked: Asked, look?: Look): Promise<Showing> =>
  editorsIn(await stage.show(asked, look))

/** A node on the canvas. */
export const nodeAt = (page: Page | Locator, label: string): Locator =>
  page.locator(".react-flow__node", { hasText: label })

/** A port of a node. */
export const portAt = (
  page: Page | Locator,
  side: "Input" | "Output",
  port: string,
  label: string,
) => page.getByRole("button", { name: new RegExp(`^${side} ${port} of ${label}`) })

/** The edges on the canvas. */
export const edgesOf = (page: Page | Locator): Locator => page.locator(".react-flow__edge")

/** Chooses a node type in the open palette. */
export const choose = async (page: Page, words: string): Promise<void> => {
  const search = page.getByRole("combobox", { name: "Search node types" })
  await search.fill(words)
  await search.press("Enter")
  await search.waitFor({ state: "detached" })
}

/** Fills an input of the node that is open in the inspector. */
export const fill = async (page: Page, port: string, text: string): Promise<void> => {
  const field = page.locator(`[data-field="inputs/${port}"]`)
  await field.locator("input, textarea").first().fill(text)
  await field.locator("input, textarea").first().press("Tab")
}

/** Saves by key. */
export const save = (page: Page): Promise<void> =>
  page
    .getByRole("region", { name: /^Editor of/ })
    .first()
    .dispatchEvent("keydown", { key: "s", ctrlKey: true, bubbles: true, cancelable: true })

/** Saves by key, and waits until everything is saved. */
export const saved = async (page: Page): Promise<void> => {
  await save(page)
  await savedByItself(page)
}

/** Waits until everything is saved. */
export const savedByItself = (page: Page | Locator): Promise<void> =>
  page.getByText("Saved", { exact: true }).first().waitFor()

interface Point {
  readonly x: number
  readonly y: number
}

/** The middle of something on the screen. */
export const middleOf = async (locator: Locator) => {
  const { height, width, x, y } = (await locator.boundingBox())!
  return { x: x + width / 2, y: y + height / 2 }
}

/** Drags with the mouse. */
export const drag = async (page: Page, from: Locator, to: Point) => {
  const { x, y } = await middleOf(from)
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move((x + to.x) / 2, (y + to.y) / 2, { steps: 4 })
  await page.mouse.move(to.x, to.y, { steps: 4 })
  await page.mouse.up()
}

/** Moves one finger. */
export const swipe = async (page: Page, from: Point, to: Point): Promise<void> => {
  const touch = await page.context().newCDPSession(page)
  const send = (type: "touchStart" | "touchMove" | "touchEnd", touchPoints: Array<Point>) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints })
  await send("touchStart", [from])
  for (const part of [0.25, 0.5, 0.75, 1])
    await send("touchMove", [
      { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part },
    ])
  await send("touchEnd", [])
}
