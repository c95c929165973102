/**
 * How people decide approvals in a browser: in the view of a run, and on the page of a link.
 */
import type { WorkflowDocument } from "millrace"
import { describe, expect, it } from "vitest"
import { findingsOf, overflowOf, record } from "./PageAudit.ts"
import { row } from "./RunViewFacts.ts"
import { stage } from "./Stage.ts"

const ann = "ann@example.com"

/** A run that asks for an amount, and waits. */
const asked = async (name: string): Promise<string> => {
  const { engine } = stage.server
  const inputs = {
    title: "Refund <b>900</b> EUR?",
    description: "Order 1007 <img src=x onerror=alert(1)>",
    approvers: ann,
    roles: ["editor"],
    timeout: "3 days",
    fields: [
      { name: "amount", label: "Amount in EUR", type: "number", required: true },
      { name: "urgent", type: "boolean" },
      { name: "reason", type: "select", options: ["broken", "late"] },
      // Names that a form has for itself, and an element of the page.
      ...["elements", "hidden", "comment"].map((name) => ({
        name,
        label: `My ${name}`,
        type: "text",
      })),
    ],
  }
  const ask = { id: "ask", type: "approval", position: { x: 40, y: 40 }, data: { inputs } }
  const document: WorkflowDocument = { name, nodes: [ask], edges: [] }
  const { id: workflowId } = await engine.workflows.create(document)
  const { id } = await engine.runs.start({ workflowId })
  await expect.poll(async () => (await engine.approvals.get(id, "ask")).status).toBe("pending")
  return id
}

const decisionOf = async (runId: string) =>
  (await stage.server.engine.approvals.get(runId, "ask")).decision

const phone = { width: 390, height: 844 }

export const approvalFacts = () =>
  describe("approvals", () => {
    it("are decided beside the node that asks, which says what is missing", async () => {
      const runId = await asked("decide here")
      const { page } = await stage.show({ runId })
      await row(page, "ask", "WAITING").click()
      const form = page.getByRole("form", { name: "Decide" })
      await form.getByText("Refund <b>900</b> EUR?").waitFor()
      await form.getByText(`Asks ${ann}, editor`).waitFor()
      await form.getByRole("button", { name: "Approve" }).click()
      await form.getByText("fields[amount]: expected a value").waitFor()
      expect(await findingsOf(page)).toEqual([])
      await form.getByLabel("Amount in EUR").fill("900")
      await form.getByLabel("urgent").check()
      await form.getByLabel("reason").selectOption("late")
      await form.getByLabel("Comment", { exact: true }).fill("fine")
      await form.getByRole("button", { name: "Approve" }).click()
      await form.waitFor({ state: "detached" })
      expect(await decisionOf(runId)).toMatchObject({
        outcome: "approved",
        comment: "fine",
        fields: { amount: 900, urgent: true, reason: "late" },
      })
    })

    it("are decided with a link, on a phone, in light and dark, without an account", async () => {
      const runId = await asked("decide there")
      const { path } = await stage.server.engine.approvals.link(runId, "ask", ann)
      const page = await (await stage.newContext({ viewport: phone })).newPage()
      const done = record(page, stage.server.origin)
      await page.goto(`${stage.server.origin}${path}`)
      await page.getByRole("heading", { name: "Refund <b>900</b> EUR?" }).waitFor()
      await page.getByText("Order 1007 <img src=x").waitFor()
      expect(await findingsOf(page)).toEqual([])
      expect(await overflowOf(page)).toBeLessThanOrEqual(0)
      await page.emulateMedia({ colorScheme: "dark" })
      expect(await findingsOf(page, { onlyColors: true })).toEqual([])
      expect(await decisionOf(runId)).toBe(null)
      // A field that is required keeps the browser from asking the server.
      await page.getByRole("button", { name: "Approve" }).click()
      expect(await decisionOf(runId)).toBe(null)
      await page.getByLabel(/^Amount in EUR/).fill("12.5")
      await page.getByLabel("Comment", { exact: true }).fill("ok")
      for (const name of ["elements", "hidden", "comment"]) {
        await page.getByLabel(`My ${name}`).fill(name)
      }
      await page.getByRole("button", { name: "Approve" }).click()
      await page.getByText("Done: approved.").waitFor()
      expect(await decisionOf(runId)).toMatchObject({
        by: ann,
        via: "link",
        comment: "ok",
        fields: { amount: 12.5, urgent: false, elements: "elements", hidden: "hidden" },
      })
      expect([done.errors, done.foreign]).toEqual([[], []])
      await page.reload()
      await page.getByText(`It was approved already: by ${ann}`).waitFor()
    })
  })
