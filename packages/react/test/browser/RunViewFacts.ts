/**
 * The view of a run in a real browser, against a real stage.server.
 */
import type { Theme } from "@millrace/react"
import type { WorkflowDocument } from "millrace"
import { defineNode } from "millrace"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { findingsOf, overflowOf } from "./PageAudit.ts"
import type { Look } from "./Stage.ts"
import { stage } from "./Stage.ts"

const gates = new Map<string, () => void>()

/** Ends when the test opens it. */
const hold = defineNode({
  type: "hold",
  title: "Hold",
  category: "flow",
  inputs: { input: z.any().optional(), name: z.string() },
  outputs: { output: z.any() },
  run: async ({ inputs, log, signal }) => {
    log.info(`Waiting for ${inputs.name}`, { name: inputs.name })
    await new Promise<void>((resolve, reject) => {
      gates.set(inputs.name, resolve)
      signal.addEventListener("abort", () => reject(new Error("interrupted")))
    })
    return { output: { name: inputs.name, list: [1, true, null, "text"] } }
  },
})

/** Fails twice, and logs much. */
const flaky = defineNode({
  type: "flaky",
  inputs: { input: z.any().optional() },
  outputs: { output: z.any() },
  retry: { attempts: 3, initial: 20 },
  run: ({ attempt, log }) => {
    for (let line = 0; line < 20; line++) log.debug(`line ${line} of attempt ${attempt}`)
    if (attempt < 3) throw new Error(`attempt ${attempt} failed`)
    log.warn("at last")
    return { output: "x".repeat(30_000) }
  },
})

/** Always fails. */
const broken = defineNode({
  type: "broken",
  inputs: { input: z.any().optional() },
  outputs: { output: z.any() },
  run: () => {
    throw new Error("broken on purpose: <img src=x onerror=alert(1)>")
  },
})

export const runNodes = [hold, flaky, broken]

const at = (column: number, row: number) => ({ x: 40 + 360 * column, y: 40 + 200 * row })

/** Each kind of node: one that waits for the test, one that is tried again, one that fails. */
const story = (name: string): WorkflowDocument => ({
  name,
  nodes: [
    { id: "first", type: "hold", position: at(0, 0), data: { inputs: { name: `${name} first` } } },
    { id: "again", type: "flaky", position: at(1, 0), data: { label: "Tried again" } },
    { id: "bad", type: "broken", position: at(1, 1), data: { label: '<b>bad</b> "مرحبا"' } },
    { id: "after", type: "flaky", position: at(2, 1) },
    {
      id: "last",
      type: "hold",
      position: at(2, 0),
      data: { inputs: { name: `${name} last` } },
    },
  ],
  edges: [
    { id: "e1", source: "first", target: "again", targetHandle: "input" },
    { id: "e2", source: "first", target: "bad", targetHandle: "input" },
    { id: "e3", source: "bad", target: "after", targetHandle: "input" },
    { id: "e4", source: "again", target: "last", targetHandle: "input" },
  ],
})

/**
 * How late something may come, which is all that these tests promise about speed.
 * `BROWSER_LATE_MILLIS` sets it. On a machine of its own 1,000 must hold.
 */
const lateMillis = Number(process.env["BROWSER_LATE_MILLIS"] ?? 10_000)

/** Waits until a handler is at work, and lets it end. */
const pass = async (name: string): Promise<void> => {
  await expect.poll(() => gates.has(name)).toBe(true)
  gates.get(name)!()
  // A rerun has a gate of the same name: the next call has to wait for that one.
  gates.delete(name)
}

const begin = async (document: WorkflowDocument): Promise<string> => {
  const { id } = await stage.server.engine.workflows.create(document)
  return (await stage.server.engine.runs.start({ workflowId: id })).id
}

/** A run of the story that has ended. */
const ended = async (name: string): Promise<string> => {
  const runId = await begin(story(name))
  await pass(`${name} first`)
  await pass(`${name} last`)
  await stage.server.engine.runs.wait(runId)
  return runId
}

/** The row of a node in the timeline. */
export const row = (page: Page, nodeId: string, status: string) =>
  page.locator(`[data-node="${nodeId}"][data-status="${status}"]`)

const runIs = (page: Page, status: string) => page.locator(`article[data-status="${status}"]`)

export const runViewFacts = () => {
  describe("RunView", () => {
    it("shows each state of a run as it happens, with two requests and 20 kB at most", async () => {
      const runId = await begin(story("live"))
      const { done, page } = await stage.show({ runId })
      await row(page, "first", "RUNNING").waitFor()
      await page.locator('.react-flow__node [data-state="RUNNING"]').first().waitFor()
      await row(page, "last", "PENDING").waitFor()
      await page.evaluate(() => {
        const watch = new MutationObserver(() => {
          const view = document.querySelector<HTMLElement>("article")
          if (view?.dataset["status"] === "FAILED") view.dataset["seen"] ??= String(Date.now())
        })
        watch.observe(document.body, { subtree: true, attributes: true })
      })
      await pass("live first")
      await row(page, "bad", "FAILED").waitFor()
      await row(page, "after", "SKIPPED").waitFor()
      await row(page, "again", "COMPLETED").waitFor()
      await row(page, "last", "RUNNING").waitFor()
      await pass("live last")
      await runIs(page, "FAILED").waitFor()
      const { finishedAt } = await stage.server.engine.runs.get(runId)
      const seen = Number(await page.locator("article").getAttribute("data-seen"))
      expect(seen - Date.parse(finishedAt!)).toBeLessThan(lateMillis)
      expect(done.calls.map((call) => new URL(call.url()).pathname).toSorted()).toEqual([
        `/api/v1/runs/${runId}/definition`,
        `/api/v1/runs/${runId}/events`,
      ])
      const bytes = stage.server.answers.filter(({ path }) => path.includes(runId))
      expect(bytes.reduce((sum, answer) => sum + answer.bytes, 0)).toBeLessThan(20_000)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("shows why nodes failed or were skipped, their outputs, logs and attempts", async () => {
      const runId = await ended("whole")
      const { done, page } = await stage.show({ runId })
      await row(page, "bad", "FAILED").click()
      const panel = page.getByRole("region", { name: "Node", exact: true })
      await panel.getByText("broken on purpose: <img").waitFor()
      await row(page, "after", "SKIPPED").click()
      await panel.getByText("Why it was skipped").waitFor()
      await row(page, "first", "COMPLETED").click()
      await panel.locator(".cm-content", { hasText: '"name": "whole first"' }).waitFor()
      await row(page, "again", "COMPLETED").click()
      await panel.getByRole("tab", { name: "Logs" }).click()
      await panel.getByText("61 lines").waitFor()
      await panel.getByRole("combobox").selectOption("warn")
      await panel.getByText("1 of 61 lines").waitFor()
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        panel.getByRole("button", { name: "Download" }).click(),
      ])
      expect(file.suggestedFilename()).toBe(`${runId}-again.log`)
      await panel.getByRole("tab", { name: "Details" }).click()
      await panel.getByText("Attempt 3").waitFor()
      // A node is read once, however often it is looked at.
      const reads = done.calls.filter((call) => call.url().includes("/nodes/"))
      expect(reads).toHaveLength(4)
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("has no barrier that axe finds: light, dark, and on a phone", async () => {
      const runId = await ended("axe")
      const look = async (theme: Theme, options: Look = {}) => {
        const { done, page } = await stage.show({ runId, theme }, options)
        await row(page, "again", "COMPLETED").click()
        for (const tab of theme === "light" ? ["Logs", "Details", "Output"] : ["Output"]) {
          await page.getByRole("tab", { name: tab }).click()
          expect(await findingsOf(page, { onlyColors: theme === "dark" }), tab).toEqual([])
        }
        expect(await overflowOf(page)).toBe(0)
        expect(done).toMatchObject({ errors: [], foreign: [] })
      }
      await look("light")
      await look("dark")
      await look("system", { viewport: { width: 390, height: 844 }, colorScheme: "dark" })
    })

    it("can be used by keyboard alone", async () => {
      const runId = await ended("keys")
      const { page } = await stage.show({ runId })
      await page.locator(".react-flow__node").nth(2).waitFor()
      const focused = page.locator(":focus")
      const tabTo = async (name: RegExp) => {
        for (let tries = 0; tries < 30; tries++) {
          await page.keyboard.press("Tab")
          const label = await focused.getAttribute("aria-label")
          if (name.test(`${label} ${await focused.textContent()}`)) return
        }
        throw new Error(`Tab does not lead to ${name}`)
      }
      await tabTo(/^Tried again/)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Tried again" }).waitFor()
      await tabTo(/Output$/)
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("ArrowRight")
      await page.getByRole("tab", { name: "Logs", selected: true }).waitFor()
      await expect.poll(() => focused.textContent()).toBe("Logs")
    })

    it("cancels a run, starts it again, and copies the start for a terminal", async () => {
      const runId = await begin(story("act"))
      const { page } = await stage.show({ runId })
      await row(page, "first", "RUNNING").waitFor()
      await page.getByRole("button", { name: "Copy as curl" }).click()
      await page.getByText("Copied").waitFor()
      const copied = await page.evaluate(() => navigator.clipboard.readText())
      expect(copied).toContain(`curl -X POST '${stage.server.origin}/api/v1/runs'`)
      await page.getByRole("button", { name: "Cancel" }).click()
      await runIs(page, "CANCELED").waitFor()
      await row(page, "last", "CANCELED").waitFor()
      // The canceled run has not opened its gate: the next call has to wait for a new one.
      gates.delete("act first")
      await page.getByRole("button", { name: "Run again" }).click()
      await runIs(page, "RUNNING").waitFor()
      await pass("act first")
      await row(page, "again", "COMPLETED").waitFor()
      const { items } = await stage.server.engine.runs.list({ search: "act" })
      expect(items).toHaveLength(2)
      await pass("act last")
    })

    it("sends the signal that a node waits for, and says what is wrong with it", async () => {
      const data = { inputs: { name: "approved" } }
      const wait = { id: "wait", type: "wait_signal", position: at(0, 0), data }
      const runId = await begin({ name: "approve", nodes: [wait], edges: [] })
      const { page } = await stage.show({ runId })
      await row(page, "wait", "WAITING").click()
      const form = page.getByRole("form", { name: "Send the signal" })
      await form.getByLabel("Payload").fill("{ by: ada }")
      await form.getByRole("button").click()
      await form.getByText("The payload is not JSON").waitFor()
      expect(await findingsOf(page)).toEqual([])
      await form.getByLabel("Payload").fill('{ "by": "ada" }')
      await form.getByRole("button").click()
      await runIs(page, "COMPLETED").waitFor()
      const { nodes } = await stage.server.engine.runs.get(runId)
      expect(nodes["wait"]!.output).toEqual({ payload: { by: "ada" } })
    })

    it("takes up a failed run again, and executes only what has not completed", async () => {
      const runId = await ended("again")
      const { page } = await stage.show({ runId })
      await page.getByRole("button", { name: "Go on from the failure" }).click()
      await row(page, "first", "COMPLETED").waitFor()
      await runIs(page, "FAILED").waitFor()
      const list = async () => (await stage.server.engine.runs.list({ search: "again" })).items
      await expect.poll(async () => (await list()).at(-2)?.status).toBe("FAILED")
      const items = await list()
      expect(items.map(({ mode, rerunOf }) => [mode, rerunOf])).toEqual([
        ["rerun", runId],
        ["full", undefined],
      ])
      expect(items[0]!.nodeRunCount).toBe(1)
    })

    it("runs again from a node, once it has said what is executed", async () => {
      const runId = await ended("from")
      const { page } = await stage.show({ runId })
      await row(page, "again", "COMPLETED").click()
      await page.getByRole("button", { name: "Run again from here" }).click()
      const plan = page.getByRole("group", { name: "What would be executed" })
      await plan.getByText("4 nodes are executed anew:").waitFor()
      await expect
        .poll(() => plan.getByRole("listitem").allTextContents())
        .toEqual(["again", "bad", "last", "after"])
      await plan.getByText("The output of 1 node is taken over.").waitFor()
      expect(await findingsOf(page)).toEqual([])
      await plan.getByRole("button", { name: "Run them" }).click()
      await runIs(page, "RUNNING").waitFor()
      await pass("from last")
      await runIs(page, "FAILED").waitFor()
      const { items } = await stage.server.engine.runs.list({ search: "from" })
      expect(items[0]).toMatchObject({ mode: "rerun", rerunOf: runId })
    })

    it("leads from a run to those that it has started, and back", async () => {
      const { id: child } = await stage.server.engine.workflows.create(story("child"))
      const inputs = { workflowId: child }
      const runId = await begin({
        name: "above",
        nodes: [{ id: "call", type: "sub_workflow", position: at(0, 0), data: { inputs } }],
        edges: [],
      })
      const { done, page } = await stage.show({ runId })
      await row(page, "call", "WAITING").click()
      const children = page.getByRole("region", { name: "Child runs" })
      await children.getByRole("button", { name: "1: Running" }).waitFor()
      expect(await findingsOf(page)).toEqual([])
      await pass("child first")
      await pass("child last")
      await runIs(page, "FAILED").waitFor()
      await children.getByRole("button", { name: "1: Failed" }).click()
      await page.getByText("Node “call” of another run has started this run.").waitFor()
      await page.getByRole("button", { name: "Open that run" }).click()
      await row(page, "call", "FAILED").waitFor()
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("shows a loop as one node, and its items page by page once they are asked for", async () => {
      const items = Array.from({ length: 120 }, (_, n) => n)
      const inputs = { items, concurrency: 50 }
      const value = { inputs: { value: "{{ each.item + 1 }}" } }
      const runId = await begin({
        name: "loop",
        nodes: [
          { id: "each", type: "for_each", position: at(0, 0), data: { inputs } },
          { id: "add", type: "transform", parentId: "each", position: at(20, 60), data: value },
        ],
        edges: [],
      })
      const { done, page } = await stage.show({ runId })
      await runIs(page, "COMPLETED").waitFor()
      expect(await page.locator(".react-flow__node").count()).toBe(1)
      await row(page, "each", "COMPLETED").click()
      const part = page.getByRole("region", { name: "Items" })
      await part.getByText("Items").waitFor()
      const reads = () => done.calls.filter((call) => call.url().includes("/items")).length
      expect(reads()).toBe(0)
      await part.getByText("Items").click()
      await part.getByRole("button", { name: "1: Completed", exact: true }).waitFor()
      expect([await part.getByRole("listitem").count(), reads()]).toEqual([50, 1])
      await part.getByRole("button", { name: "Show more child runs" }).click()
      await part.getByRole("button", { name: "100: Completed", exact: true }).waitFor()
      expect(await findingsOf(page)).toEqual([])
      await part.getByRole("button", { name: "2: Completed", exact: true }).click()
      await page.getByText("Node “each” of another run has started this run.").waitFor()
      expect(done).toMatchObject({ errors: [], foreign: [] })
    })

    it("goes on where it was after the server was away", async () => {
      const runId = await begin(story("away"))
      const { page } = await stage.show({ runId })
      await row(page, "first", "RUNNING").waitFor()
      await stage.server.shut()
      await pass("away first")
      await pass("away last")
      await stage.server.engine.runs.wait(runId)
      await stage.server.open()
      await runIs(page, "FAILED").waitFor()
      await row(page, "last", "COMPLETED").waitFor()
      const reads = stage.server.answers.filter(({ path }) => path.includes(`${runId}/definition`))
      expect(reads).toHaveLength(1)
    })

    it("is reached from a list in which runs appear and move by themselves", async () => {
      const { token } = await stage.server.engine.sessions.create({ role: "owner" })
      const { done, page } = await stage.show({ session: token })
      // An owner sees the keys of the account, too; a program with an API key does not.
      const keys = await stage.server.engine.keys.list()
      await page.getByText(keys.map(({ label }) => label).join(", "), { exact: true }).waitFor()
      const runId = await begin(story("listed"))
      await page.locator(`[data-run="${runId}"]`, { hasText: "RUNNING" }).waitFor()
      await pass("listed first")
      await pass("listed last")
      await page.locator(`[data-run="${runId}"]`, { hasText: "FAILED" }).waitFor()
      expect(done.calls.length).toBe(3)
    })

    it("says in a sentence that a run does not exist", async () => {
      const { page } = await stage.show({ runId: "run_unknown" })
      const said = page.getByRole("alert")
      await said.waitFor()
      expect(await said.textContent()).toMatch("This run does not exist")
    })

    it("shows names as they are, however long and of whatever script", async () => {
      const label = `<script>alert(1)</script> مرحبا ${"long ".repeat(2_000)}`
      const node = { id: "a", type: "constant", position: at(0, 0), data: { label } }
      const value = { ...node, data: { label, inputs: { value: 1 } } }
      const runId = await begin({ name: "<b>bold</b>", nodes: [value], edges: [] })
      await stage.server.engine.runs.wait(runId)
      const { done, page } = await stage.show({ runId }, { viewport: { width: 390, height: 844 } })
      await page.getByRole("heading", { name: "<b>bold</b>" }).waitFor()
      await row(page, "a", "COMPLETED").click()
      expect(await overflowOf(page)).toBe(0)
      expect(done.errors).toEqual([])
    })

    it("draws 500 nodes, and zooms", async () => {
      const nodes = Array.from({ length: 500 }, (_, index) => ({
        id: `n${index}`,
        type: "constant",
        position: at(index % 25, Math.floor(index / 25)),
        data: { inputs: { value: index } },
      }))
      const runId = await begin({ name: "large", nodes, edges: [] })
      await stage.server.engine.runs.wait(runId)
      const from = performance.now()
      const { page } = await stage.show({ runId }, { viewport: { width: 1_440, height: 1_000 } })
      await page.locator(".react-flow__node").nth(499).waitFor({ state: "attached" })
      expect(performance.now() - from).toBeLessThan(lateMillis)
      // The rows of the timeline beyond the first come when the graph is on screen.
      await row(page, "n499", "COMPLETED").waitFor({ state: "attached" })
      const millis = await page.evaluate(async () => {
        const begun = performance.now()
        document.querySelector<HTMLElement>("[aria-label='Zoom in']")!.click()
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
        return performance.now() - begun
      })
      expect(millis).toBeLessThan(lateMillis)
    })
  })
}
