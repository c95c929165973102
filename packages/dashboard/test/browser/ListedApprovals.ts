/**
 * On the page of approvals: goes to the form of what waits, decides, and finds it gone.
 */
import type { Page } from "playwright-core"
import { findingsOf } from "../../../react/test/browser/PageAudit.ts"
import { expect } from "vitest"

const inputs = { title: "Ship order 17?", approvers: "ann@example.com", roles: ["editor"] }
const node = { id: "ask", type: "approval", position: { x: 0, y: 0 }, data: { inputs } }

/** Imports a workflow that asks, and starts it. */
const ask = async (page: Page): Promise<void> => {
  const text = JSON.stringify({ name: "Ships", nodes: [node], edges: [] })
  const file = { name: "ships.json", mimeType: "application/json", buffer: Buffer.from(text) }
  await page.getByLabel("File of a workflow").setInputFiles(file)
  await page.getByRole("heading", { name: "Ships", level: 1 }).waitFor()
  await page.getByRole("navigation").getByRole("link", { name: "Workflows", exact: true }).click()
  await page.getByRole("button", { name: "Run Ships" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click()
  await page.getByText("Waiting", { exact: true }).first().waitFor()
}

/** Expects the approval in the list until it is decided. Begins on the first page. */
export const decideListed = async (page: Page): Promise<void> => {
  await ask(page)
  const toList = () =>
    page.getByRole("navigation").getByRole("link", { name: "Approvals", exact: true }).click()
  await toList()
  const row = page.getByRole("row").filter({ hasText: "Ship order 17?" })
  await row.getByText("ann@example.com, role editor").waitFor()
  await row.getByRole("link").click()
  const form = page.getByRole("form", { name: "Decide" })
  await form.getByText("Ship order 17?").waitFor()
  await form.getByRole("button", { name: "Approve" }).click()
  await page.getByText("Completed", { exact: true }).first().waitFor()
  await toList()
  await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor()
  await row.waitFor({ state: "detached" })
  expect(await findingsOf(page)).toEqual([])
}
