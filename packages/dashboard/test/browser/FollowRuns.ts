/**
 * On the page of a workflow's triggers: makes a trigger that follows the runs of another workflow,
 * changes it and removes it.
 */
import type { Page } from "playwright-core"
import { expect } from "vitest"
import { findingsOf } from "../../../react/test/browser/PageAudit.ts"

/** Expects that it works, and that axe finds nothing. The workflow Diamond is there. */
export const followRuns = async (page: Page): Promise<void> => {
  const dialog = page.getByRole("dialog")
  await page.getByRole("button", { name: "After a run" }).click()
  await dialog.getByLabel("Workflow whose runs it follows").selectOption("Diamond")
  await dialog.getByLabel("completes").uncheck()
  await dialog.getByRole("button", { name: "Save" }).click()
  await dialog.getByText("at least one status").waitFor()
  await dialog.getByLabel("completes").check()
  await dialog.getByLabel("fails").check()
  await dialog.getByLabel(/^What each field gets/).fill('{ "name": "workflowName" }')
  expect(await findingsOf(page)).toEqual([])
  await dialog.getByRole("button", { name: "Save" }).click()
  const followed = page.getByRole("row", { name: /Diamond completes, fails/ })
  await followed.getByRole("button", { name: /^Edit/ }).click()
  await dialog.getByLabel("fails").uncheck()
  await dialog.getByRole("button", { name: "Save" }).click()
  await page.getByRole("row", { name: /Diamond completes(?!,)/ }).waitFor()
  expect(await findingsOf(page)).toEqual([])
  const only = page.getByRole("region", { name: "After runs of others" }).getByRole("row").nth(1)
  await only.getByRole("button", { name: /^Remove/ }).click()
  await dialog.getByRole("button", { name: "Remove" }).click()
  await page.getByText("Nothing starts it by itself").waitFor()
}
