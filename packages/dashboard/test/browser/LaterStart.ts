/**
 * In the dialog of a start: gives a time, a priority and a concurrency key, and finds them at the
 * run and in the list.
 */
import type { Page } from "playwright-core"
import { expect } from "vitest"
import { findingsOf } from "../../../react/test/browser/PageAudit.ts"

/** Expects a run that waits, and cancels it. Begins on the first page. */
export const startLater = async (page: Page): Promise<void> => {
  await page.getByRole("button", { name: "Run Hello" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText("When it is its turn").click()
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)
  await dialog.getByLabel(/^Not before/).fill(tomorrow)
  await dialog.getByLabel(/^Priority/).fill("5")
  await dialog.getByLabel("Concurrency key").fill("acme")
  expect(await findingsOf(page)).toEqual([])
  await dialog.getByRole("button", { name: "Run", exact: true }).click()
  const fact = (name: string) => page.locator("dl > div").filter({ hasText: name })
  await fact("Waits until").waitFor()
  await fact("Priority5").waitFor()
  await fact("Concurrency keyacme, 1 at once").waitFor()
  expect(await findingsOf(page)).toEqual([])
  await page.getByRole("navigation").getByRole("link", { name: "Runs", exact: true }).click()
  await page.getByText(/^Waits: until .*, priority 5, key acme$/).waitFor()
  await page.goBack()
  await page.getByRole("button", { name: "Cancel" }).click()
  await page.getByText("Canceled", { exact: true }).first().waitFor()
  await fact("Put off until").waitFor()
}
