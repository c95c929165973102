/**
 * Who else has a workflow open, and what they save, in the editors of two people.
 */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { nodeAt, openEditors } from "./EditorPage.ts"
import { findingsOf } from "./PageAudit.ts"
import { makeWorkflow, type, typed } from "./SavingFacts.ts"
import { stage } from "./Stage.ts"

const tokenOf = async (role: "editor" | "owner") =>
  (await stage.server.engine.sessions.create({ role })).token

const line = (page: Page) => page.getByRole("heading", { level: 2 }).first().locator("+ span")

const says = async (page: Page, text: string) => {
  await expect.poll(() => line(page).textContent()).toBe(text)
}

const placeOfRun = (page: Page) =>
  page.getByRole("button", { name: "Run", exact: true }).boundingBox()

export const presenceFacts = () => {
  describe("Presence", () => {
    it("says who else is here, and shows what they save, without moving anything", async () => {
      const editors = [await makeWorkflow("together")]
      const mine = await tokenOf("editor")
      const { page } = await openEditors({ editors, session: mine })
      await says(page, "")
      const before = await placeOfRun(page)
      const { page: again } = await stage.openPage({ editors, session: mine })
      await says(page, "Also here: you, in another tab")
      const { page: other } = await stage.openPage({ editors, session: await tokenOf("owner") })
      await says(other, "Also here: an editor")
      await says(page, "Also here: you, in another tab, an owner")
      await again.close()
      await says(page, "Also here: an owner")
      expect(await placeOfRun(page)).toEqual(before)
      expect(await findingsOf(page)).toEqual([])
      await type(other, "First", "theirs")
      await says(page, "Now with changes that were saved by an owner")
      await nodeAt(page, "First").focus()
      await page.keyboard.press("Enter")
      await expect.poll(() => typed(page)).toBe("theirs")
    })
  })
}
