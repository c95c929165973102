/**
 * What tests of the inspector share: node types, workflows, and what a user does there.
 */
import type { WorkflowDocument } from "millrace"
import { defineNode } from "millrace"
import type { Locator, Page } from "playwright-core"
import { expect } from "vitest"
import { z } from "zod"

/** An input of each form. */
const form = defineNode({
  type: "form",
  title: "Form",
  category: "test",
  inputs: {
    text: z.string(),
    count: z.number().int().optional().describe("How many."),
    isOn: z.boolean().optional(),
    color: z.enum(["red", "green"]).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    tags: z.array(z.string()).optional(),
    any: z.any().optional(),
  },
  outputs: { output: z.object({ said: z.string(), list: z.array(z.number()) }), note: z.string() },
  effects: "reads",
  run: ({ inputs }) => ({
    output: { said: `said ${inputs.text}`, list: [1, 2] },
    note: "a note",
  }),
})

/** The messages that were sent. */
export const calls: Array<string> = []

/** Changes something outside. */
const send = defineNode({
  type: "send",
  title: "Send",
  category: "test",
  inputs: { message: z.string(), input: z.any().optional() },
  outputs: { receipt: z.string() },
  effects: "writes",
  run: ({ inputs }) => {
    calls.push(inputs.message)
    return { receipt: `sent ${inputs.message}` }
  },
})

/** Two versions of a type, which take different inputs. */
const stamps = [1, 2].map((version) =>
  defineNode({
    type: "stamp",
    title: "Stamp",
    category: "test",
    version,
    deprecated: version === 1 ? "Version 2 takes ink." : false,
    inputs: version === 1 ? { paper: z.string() } : { paper: z.string(), ink: z.string() },
    outputs: {},
    run: () => {},
  }),
)

export const inspectorNodes = [form, send, ...stamps]

export const at = (column: number) => ({ x: 40 + 360 * column, y: 40 })

export const story: WorkflowDocument = {
  name: "Story",
  nodes: [
    { id: "send", type: "send", position: at(1), data: { inputs: { message: "hello" } } },
    { id: "form", type: "form", position: at(0), data: { inputs: { text: "one" } } },
  ],
  edges: [{ id: "e1", source: "form", target: "send", targetHandle: "input" }],
}

export const field = (page: Page, place: string) => page.locator(`[data-field="${place}"]`)

export const nodeOf = (page: Page, nodeId: string) =>
  page.evaluate((id) => {
    const { document_ } = window as unknown as { document_: WorkflowDocument }
    return document_.nodes!.find((node) => node.id === id)
  }, nodeId)

export const inputsOf = async (page: Page, nodeId: string) =>
  ((await nodeOf(page, nodeId))?.data as { inputs?: Record<string, unknown> } | undefined)?.inputs

/** The control of an input. */
export const control = (page: Page, port: string) =>
  field(page, `inputs/${port}`).getByLabel(port, { exact: true })

export const press = async (page: Page, ...keys: ReadonlyArray<string>) => {
  for (const key of keys) await page.keyboard.press(key)
}

export const isFocused = (target: Locator) =>
  target.evaluate((element) => element === document.activeElement)

/** Moves the focus by Tab until it is on the element. */
export const tabTo = async (page: Page, target: Locator) => {
  for (let tries = 0; tries < 80; tries++) {
    if (await isFocused(target)) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`Tab does not lead to ${target}`)
}

/** Types, and tells how long the slowest key took until it was drawn. */
export const slowestKey = async (page: Page, text: string, delay = 40) => {
  await page.evaluate(() => {
    const told = window as unknown as { millis?: Array<number> }
    const isHeard = told.millis !== undefined
    const millis: Array<number> = (told.millis ??= [])
    millis.length = 0
    if (isHeard) return
    addEventListener("keydown", ({ key, timeStamp }) => {
      // Not those that move the caret.
      if (key.length > 1) return
      requestAnimationFrame(() => {
        // Heard when the frame is drawn.
        const { port1, port2 } = new MessageChannel()
        port1.addEventListener("message", () => millis.push(performance.now() - timeStamp))
        port1.start()
        port2.postMessage(undefined)
      })
    })
  })
  await page.keyboard.type(text, { delay })
  const millisOf = () =>
    page.evaluate(() => (window as unknown as { millis: Array<number> }).millis)
  await expect.poll(async () => (await millisOf()).length).toBeGreaterThanOrEqual(text.length)
  return Math.max(...(await millisOf()))
}

export const many: WorkflowDocument = {
  name: "Many",
  nodes: Array.from({ length: 500 }, (_, index) => ({
    id: `n${index}`,
    type: "form",
    position: at(index),
    data: { inputs: { text: `{{ nothing${index} }}` } },
  })),
  edges: Array.from({ length: 499 }, (_, index) => ({
    id: `e${index}`,
    source: `n${index}`,
    target: `n${index + 1}`,
    targetHandle: "any",
  })),
}
