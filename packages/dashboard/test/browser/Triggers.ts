/**
 * On the page of a workflow's triggers: makes a schedule, tries a webhook at its test address, and
 * has somebody told of a trigger's runs.
 */
import type { Locator, Page } from "playwright-core"
import { expect } from "vitest"
import { findingsOf } from "../../../react/test/browser/PageAudit.ts"

/** Makes a schedule, changes it and removes it; expects that axe finds nothing. */
export const makeSchedule = async (page: Page, receiver: string): Promise<void> => {
  const dialog = page.getByRole("dialog")
  await page.getByText("Nothing starts it by itself").waitFor()
  await page.getByRole("button", { name: "New schedule" }).click()
  await dialog.getByRole("textbox", { name: "Cron text" }).fill("61 * * * *")
  await dialog.getByLabel("Time zone").fill("Europe/Berlin")
  await dialog.getByLabel("Values of its runs, as JSON").fill('{ "name": "Ada" }')
  await dialog.getByRole("button", { name: "Save" }).click()
  await dialog.getByRole("alert").waitFor()
  expect(await findingsOf(page)).toEqual([])
  await dialog.getByRole("textbox", { name: "Cron text" }).fill("30 7 * * 1-5")
  await dialog.getByText("Tell somebody").click()
  await dialog.getByLabel("Address that is told").fill("ftp://example.com/")
  await dialog.getByRole("button", { name: "Save" }).click()
  await dialog
    .getByRole("alert")
    .filter({ hasText: /^webhook/ })
    .waitFor()
  await dialog.getByLabel("Address that is told").fill(receiver)
  await dialog.getByLabel("It is told of").selectOption("Times that started no run")
  await dialog.getByRole("button", { name: "Save" }).click()
  const row = page.getByRole("row", { name: /30 7/ })
  await row.waitFor()
  expect(await findingsOf(page)).toEqual([])
  await row.getByRole("button", { name: /^Next times/ }).click()
  await expect.poll(() => dialog.getByRole("listitem").count()).toBe(10)
  await page.keyboard.press("Escape")
  await row.getByRole("button", { name: /^Edit/ }).click()
  await dialog.getByRole("combobox", { name: /^When/ }).selectOption("At an interval")
  await dialog.getByLabel("Seconds from one time to the next").fill("86400")
  await dialog.getByRole("button", { name: "Save" }).click()
  const changed = page.getByRole("row", { name: /every 86,400 s/ })
  await changed.getByRole("checkbox").click()
  await expect.poll(() => changed.getByRole("checkbox").isChecked()).toBe(false)
  await changed.getByRole("button", { name: /^Remove/ }).click()
  await dialog.getByRole("button", { name: "Remove" }).click()
  await page.getByText("Nothing starts it by itself").waitFor()
}

/** Sends to the test address of the webhook in a row, and expects to see what arrived. */
export const testWebhook = async (page: Page, row: Locator): Promise<void> => {
  const dialog = page.getByRole("dialog")
  await row.getByRole("button", { name: /^Test/ }).click()
  await dialog.getByText("Nothing yet").waitFor()
  await dialog.getByRole("button", { name: "Make a test address" }).click()
  const address = (await dialog.locator("output").textContent())!
  await fetch(address, { method: "POST", body: new URLSearchParams({ name: "Ada" }) })
  await fetch(address, { method: "POST", body: "<", headers: { "content-type": "image/png" } })
  await dialog.getByText(/POST, Content-Type must be JSON/).waitFor()
  await dialog.getByText(/POST, would start a run/).click()
  await dialog.getByText('"name": "Ada"').waitFor()
  expect(await findingsOf(page)).toEqual([])
  await page.keyboard.press("Escape")
}

/** Has the receiver told of the ends of the runs that the trigger in a row starts. */
export const tellOfRuns = async (page: Page, row: Locator, receiver: string): Promise<void> => {
  const dialog = page.getByRole("dialog")
  const open = async () => {
    await row.getByRole("button", { name: /^Edit/ }).click()
    await dialog.getByText("Tell somebody").click()
  }
  await open()
  await dialog.getByLabel("Address that is told").fill(receiver)
  await dialog.getByLabel("It is told of").selectOption("The ends of its runs")
  expect(await findingsOf(page)).toEqual([])
  await dialog.getByRole("button", { name: "Save" }).click()
  await dialog.waitFor({ state: "detached" })
  await open()
  expect(await dialog.getByLabel("Address that is told").inputValue()).toBe(receiver)
  expect(await dialog.getByLabel("It is told of").inputValue()).toMatch(/^run.completed /)
  await page.keyboard.press("Escape")
}
