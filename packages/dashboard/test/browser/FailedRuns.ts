/**
 * On the page of runs: runs again what has failed, from a filter and from a group of failures.
 */
import type { Page } from "playwright-core"
import { expect } from "vitest"
import { findingsOf } from "../../../react/test/browser/PageAudit.ts"

const data = { inputs: { message: "no stock" } }
const node = { id: "stop", type: "fail", position: { x: 0, y: 0 }, data }

/** Imports a workflow that fails, and starts it. */
const failOnce = async (page: Page): Promise<void> => {
  const text = JSON.stringify({ name: "Breaks", nodes: [node], edges: [] })
  const file = { name: "breaks.json", mimeType: "application/json", buffer: Buffer.from(text) }
  await page.getByLabel("File of a workflow").setInputFiles(file)
  await page.getByRole("heading", { name: "Breaks", level: 1 }).waitFor()
  await page.getByRole("navigation").getByRole("link", { name: "Workflows", exact: true }).click()
  await page.getByRole("button", { name: "Run Breaks" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click()
  await page.getByText("Failed", { exact: true }).first().waitFor()
}

/** Expects one rerun of each failed run, and nothing from axe. Begins on the first page. */
export const runFailedAgain = async (page: Page): Promise<void> => {
  await failOnce(page)
  await page.getByRole("navigation").getByRole("link", { name: "Runs", exact: true }).click()
  await page.getByRole("button", { name: "Run failed ones again" }).click()
  const dialog = page.getByRole("dialog", { name: "Run failed runs again" })
  await dialog.getByLabel("Its error contains").fill("nothing has this error")
  await dialog.getByRole("button", { name: "Run again" }).click()
  await dialog.getByText("0 runs started.").waitFor()
  expect(await findingsOf(page)).toEqual([])
  await dialog.getByRole("button", { name: "Close" }).last().click()
  await page.getByLabel("Failures by error").check()
  const group = page.getByRole("listitem").filter({ hasText: "Breaks" })
  await group.getByText("no stock").first().click()
  await group.getByRole("button", { name: "Run these again" }).click()
  await expect.poll(() => dialog.getByLabel("Its error contains").inputValue()).toMatch(/no stock/)
  await dialog.getByRole("button", { name: "Run again" }).click()
  await dialog.getByText("1 run started.").waitFor()
  await dialog.getByRole("button", { name: "Close" }).last().click()
  await group.getByText("2 runs").waitFor()
  await group.getByRole("button", { name: "Run these again" }).click()
  await dialog.getByRole("button", { name: "Run again" }).click()
  await dialog.getByText("1 run started. 1 run left out: run again before.").waitFor()
}
