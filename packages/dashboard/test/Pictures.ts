/**
 * The pictures of the README: a workflow in the editor, and a run of it. `npm run pictures` takes
 * them, and keeps the words on them beside them, so that a test sees when a page has changed.
 */
import { join, resolve } from "node:path"
import type { Page } from "playwright-core"

/** Where they are kept. */
export const picturesFolder = resolve(import.meta.dirname, "../../../docs/pictures")

/** The words of each picture, by its name. */
export const wordsFile = join(picturesFolder, "words.json")

/** The size of each of them, in pixels. */
export const pictureSize = { width: 1_280, height: 800 }

/** What is on a page and is the same every time: the words of what can be used, and titles. */
const wordsOf = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    const found = document.querySelectorAll("nav a, button, summary, [role=tab], h1, h2, h3, dt")
    const texts = Array.from(found, ({ textContent }) => textContent.trim())
    return [...new Set(texts)].filter((text) => text !== "" && !/\d/.test(text)).toSorted()
  })

const title = (page: Page, name: string) =>
  page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

const showEditor = async (page: Page) => {
  await page.getByRole("link", { name: "Diamond", exact: true }).click()
  await title(page, "Diamond")
  await page.locator(".react-flow__node").nth(1).click()
  await page.locator("[data-field]").first().waitFor()
  await page.getByText("No problems").waitFor()
}

const showRun = async (page: Page) => {
  await page.getByRole("link", { name: "Workflows", exact: true }).click()
  await title(page, "Workflows")
  const item = page.locator("li, tr", { hasText: "Order digest" })
  await item.getByRole("link", { name: "Completed" }).first().click()
  await title(page, "Run")
  await page.locator('[data-node="digest"][data-status="COMPLETED"]').click()
  await page.getByText("headline").first().waitFor()
  await page.getByText("Open in editor with this data").waitFor()
}

/** A picture, and the words on it. */
export interface Picture {
  readonly name: string
  readonly words: ReadonlyArray<string>
  readonly png: Buffer
}

/** Takes the pictures, of a page that shows the workflows of `millrace dev` after its first run. */
export const takePictures = async (page: Page): Promise<ReadonlyArray<Picture>> => {
  await page.setViewportSize(pictureSize)
  const take = async (name: string): Promise<Picture> => {
    await page.mouse.move(0, 0)
    const png = await page.screenshot({ animations: "disabled" })
    return { name, words: await wordsOf(page), png }
  }
  await showEditor(page)
  const editor = await take("editor")
  await showRun(page)
  return [editor, await take("run")]
}
