/**
 * Takes a picture of each page of the dashboard, in light, in dark and on a phone.
 *
 * Guarantees: a picture is taken when all that the page has asked for is there and two pictures in
 * a row are the same. The viewer's clock stands still, and identifiers are covered. Leaves out:
 * what the pictures show, and comparing them.
 */
import type { Browser, BrowserContext, Page } from "playwright-core"
import type { Place } from "../../packages/dashboard/test/browser/Pages.ts"
import { isRead, pagesOf } from "../../packages/dashboard/test/browser/Pages.ts"
import type { Scene } from "./Scene.ts"

/** What is used here of a browser: its types and those of Node do not go together. */
declare const document: {
  readonly body: unknown
  readonly documentElement: { readonly scrollHeight: number }
  createTreeWalker(
    root: unknown,
    shown: number,
  ): { nextNode(): unknown; readonly currentNode: { nodeValue: string | null } }
}
declare const window: { readonly innerHeight: number; scrollTo(left: number, top: number): void }
declare const sessionStorage: { setItem(name: string, value: string): void }
declare const requestAnimationFrame: (call: (time: number) => void) => number

/** How a page is looked at. */
export type Look = "light" | "dark" | "phone"

/** A picture of a page. */
export interface Shot {
  readonly name: string
  readonly look: Look
  readonly png: Buffer
}

/** A page to take a picture of, and what to do on it first. */
interface Subject {
  readonly name: string
  readonly place: Place
  readonly prepare?: (page: Page) => Promise<void>
}

const chooseNode = (id: string) => async (page: Page) => {
  await page.locator(`.react-flow__node[data-id="${id}"]`).click()
  await page.locator(".cm-content").first().waitFor()
}

/** `Failing`, `?tab=runs` -> `failing-runs`. */
const nameOf = ([name, path]: Place): string =>
  [name, /\?tab=(\w+)/.exec(path)?.[1] ?? ""].join(" ").trim().toLowerCase().replaceAll(" ", "-")

const subjectsOf = ({ made }: Scene): ReadonlyArray<Subject> => [
  ...pagesOf(made).map((place) => ({ name: nameOf(place), place })),
  {
    name: "editor",
    place: ["Diamond", `/workflows/${made.diamondId}`, "No problems"],
    prepare: chooseNode("is_large"),
  },
  {
    name: "run-completed",
    place: ["Run", `/runs/${made.digestRun}`, "Completed"],
    prepare: chooseNode("digest"),
  },
  { name: "editor-loop", place: ["Restock", `/workflows/${made.restockId}`, "No problems"] },
  {
    name: "editor-collapsed",
    place: ["Restock", `/workflows/${made.restockId}`, "No problems"],
    prepare: async (page) => {
      await page.getByRole("button", { name: "Collapse loop For each" }).click()
    },
  },
  {
    name: "run-loop",
    place: ["Run", `/runs/${made.loopRun}?node=each`, "Completed"],
    prepare: async (page) => {
      await page.getByText("Items", { exact: true }).click()
      await page.getByText("3: Completed").waitFor()
    },
  },
  { name: "run-asking", place: ["Run", `/runs/${made.askingRun}?node=ask`, "Amount in EUR"] },
  { name: "run-later", place: ["Run", `/runs/${made.laterRun}`, "Waits until"] },
  { name: "run-running", place: ["Run", `/runs/${made.liveRun}`, "Running"] },
]

/** Waits until nothing is asked for any more; streams go on. */
class Quiet {
  readonly #open = new Set<unknown>()
  #tell = () => {}

  constructor(page: Page) {
    page.on("request", (request) => this.#open.add(request))
    const ended = (request: unknown) => {
      this.#open.delete(request)
      if (this.#open.size === 0) this.#tell()
    }
    page.on("requestfinished", ended)
    page.on("requestfailed", ended)
    page.on("response", (response) => {
      if (response.headers()["content-type"] === "text/event-stream") ended(response.request())
    })
  }

  async wait(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => (this.#tell = resolve))
  }
}

/** Writes zeros in the place of what is random: identifiers, beginnings of keys, ports. */
const cover = (page: Page) =>
  page.evaluate(() => {
    const random = /(?<=\b[a-z]{2,4}_)[0-9a-f]{8}-[0-9a-f-]{27}|(?<=\bmr_)\w+|(?<=0\.1:)\d+/g
    const showText = 4
    const covered = (text: string) => text.replace(random, (found) => found.replace(/\w/g, "0"))
    const walker = document.createTreeWalker(document.body, showText)
    while (walker.nextNode()) {
      const { currentNode: node } = walker
      const text = node.nodeValue ?? ""
      if (covered(text) !== text) node.nodeValue = covered(text)
    }
  })

/** A phone shows all that is below, too, up to this; a desk has things that stay in the window. */
const mostPixels = 1_800

const sizeOf = async (page: Page) => {
  const { height, width } = page.viewportSize()!
  if (width > 400) return { height, width }
  const whole = await page.evaluate(() => document.documentElement.scrollHeight)
  return { height: Math.min(whole, mostPixels), width }
}

/** Parts that are not on screen are drawn when they come there. */
const scrollThrough = (page: Page) =>
  page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    const end = document.documentElement.scrollHeight
    for (let top = 0; top < end; top += window.innerHeight) {
      window.scrollTo(0, top)
      await frame()
      await frame()
    }
    window.scrollTo(0, 0)
    await frame()
  })

const mostTries = 20

/** A picture of a page that has come to rest. */
const shoot = async (page: Page, quiet: Quiet, name: string): Promise<Buffer> => {
  let before: Buffer | undefined
  for (let tries = 0; tries < mostTries; tries++) {
    await quiet.wait()
    await page
      .getByText(/^Loading/)
      .first()
      .waitFor({ state: "hidden" })
    await cover(page)
    const { height, width } = await sizeOf(page)
    const clip = { x: 0, y: 0, width, height }
    const png = await page.screenshot({ animations: "disabled", fullPage: true, clip })
    if (before?.equals(png)) return png
    before = png
  }
  throw new Error(`${name}: the page does not come to rest`)
}

const contextOf = async (browser: Browser, scene: Scene, isPhone: boolean) => {
  const context = await browser.newContext({
    viewport: isPhone ? { width: 390, height: 844 } : { width: 1_280, height: 800 },
    deviceScaleFactor: 1,
    locale: "en-US",
    timezoneId: "Europe/Berlin",
    reducedMotion: "reduce",
    colorScheme: "light",
  })
  const [name = "", value = ""] = scene.cookie.split("=")
  await context.addCookies([{ name, value, url: scene.origin }])
  await context.addInitScript((id) => sessionStorage.setItem("millrace.account", id), scene.account)
  await context.clock.setFixedTime(scene.now)
  // The other tab may or may not have the same workflow open just now: nobody is told.
  await context.route("**/workflows/*/live", (route) =>
    route.fulfill({ contentType: "text/event-stream", body: "" }),
  )
  return context
}

const open = async (context: BrowserContext, address: string) => {
  const page = await context.newPage()
  const quiet = new Quiet(page)
  await page.goto(address)
  return { page, quiet }
}

/** Opens pages one after the other, and takes a picture of each in these looks. */
const tour = async (
  context: BrowserContext,
  scene: Scene,
  subjects: ReadonlyArray<Subject>,
  looks: ReadonlyArray<Look>,
): Promise<ReadonlyArray<Shot>> => {
  const shots: Array<Shot> = []
  for (const { name, place, prepare } of subjects) {
    const { page, quiet } = await open(context, `${scene.origin}/dashboard${place[1]}`)
    await isRead(page, place)
    await prepare?.(page)
    await page.mouse.move(0, 0)
    await quiet.wait()
    await scrollThrough(page)
    for (const look of looks) {
      await page.emulateMedia({ colorScheme: look === "dark" ? "dark" : "light" })
      shots.push({ name, look, png: await shoot(page, quiet, `${name}, ${look}`) })
    }
    await page.close()
  }
  return shots
}

/** Takes all pictures whose names contain this. */
export const takeShots = async (
  browser: Browser,
  scene: Scene,
  part = "",
): Promise<ReadonlyArray<Shot>> => {
  const subjects = subjectsOf(scene).filter(({ name }) => name.includes(part))
  const desk = await contextOf(browser, scene, false)
  const phone = await contextOf(browser, scene, true)
  // Two tabs, one for each core that a small machine has.
  const shots = await Promise.all([
    tour(desk, scene, subjects, ["light", "dark"]),
    tour(phone, scene, subjects, ["phone"]),
  ])
  return shots.flat()
}
