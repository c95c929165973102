/**
 * On the page of a workflow's versions: publishes it, publishes it again with another name,
 * compares the two, looks at the first one, brings it back, and unpublishes.
 */
import type { Page } from "playwright-core"
import { expect } from "vitest"
import { findingsOf } from "../../../react/test/browser/PageAudit.ts"

const tab = (page: Page, name: string) =>
  page
    .getByRole("navigation", { name: "Parts of the workflow" })
    .getByRole("link", { name })
    .click()

const rename = async (page: Page, name: string) => {
  await tab(page, "Settings")
  const saved = page.waitForResponse((answer) => answer.request().method() === "PATCH")
  await page.getByRole("textbox", { name: "Name" }).fill(name)
  await saved
  await tab(page, "Versions")
}

const publish = async (page: Page, note: string) => {
  const dialog = page.getByRole("dialog")
  await page.getByRole("button", { name: "Publish the draft" }).click()
  await dialog.getByLabel(/^What is new/).fill(note)
  expect(await findingsOf(page)).toEqual([])
  await dialog.getByRole("button", { name: "Publish", exact: true }).click()
  await dialog.waitFor({ state: "detached" })
}

/** Expects that it works, and that axe finds nothing. The workflow has no version. */
export const publishVersions = async (page: Page): Promise<void> => {
  const dialog = page.getByRole("dialog")
  const main = page.getByRole("main")
  await tab(page, "Versions")
  await main.getByText("No version is published").waitFor()
  await publish(page, "the first one")
  await main.getByText("take version 1").waitFor()
  await page.getByRole("row", { name: /the first one Published/ }).waitFor()
  await rename(page, "Renamed")
  await page.getByRole("button", { name: "Publish the draft" }).click()
  await dialog.getByText("Changed name").waitFor()
  await dialog.getByRole("button", { name: "Cancel" }).click()
  await publish(page, "another name")
  await main.getByText("take version 2").waitFor()

  await page.getByRole("button", { name: "Compare version 1" }).click()
  await dialog.getByRole("combobox").selectOption("version 2")
  await dialog.getByText("Changed name").waitFor()
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "View version 1" }).click()
  await dialog.locator(".react-flow__node").first().waitFor()
  expect(await findingsOf(page)).toEqual([])
  await page.keyboard.press("Escape")

  await page.getByRole("button", { name: "Restore version 1" }).click()
  await dialog.getByRole("button", { name: "Restore" }).click()
  await expect.poll(() => page.getByRole("heading", { level: 1 }).textContent()).not.toBe("Renamed")
  await main.getByText("take version 2").waitFor()
  await page.getByRole("button", { name: "Unpublish version 2" }).click()
  await dialog.getByRole("button", { name: "Unpublish" }).click()
  await main.getByText("No version is published").waitFor()
  expect(await findingsOf(page)).toEqual([])
}
