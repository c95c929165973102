/**
 * What all browser tests share: one browser, one server, and one page.
 *
 * Guarantees: what is shown is drawn anew, with nothing of what was shown before, but the page is
 * loaded once. After a test that has failed it is loaded again. Tests that need tabs, users or
 * fingers of their own open a context.
 */
import type { NodeType } from "millrace"
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { onTestFailed, onTestFinished } from "vitest"
import { launchChromium } from "./Chromium.ts"
import type { PageRecord } from "./PageAudit.ts"
import { record } from "./PageAudit.ts"
import type { Shown } from "./page/main.tsx"
import { buildPage, TestServer } from "./TestServer.ts"

/** Against what hangs, not against what is slow. */
export const patienceMillis = 300_000

/** What a test asks for. */
export type Asked = Omit<Shown, "apiKey" | "nonce" | "turn">

/** How the page is looked at. */
export interface Look {
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly colorScheme?: "light" | "dark"
}

/** A page, and what it has done since it shows what was asked for. */
export interface Showing {
  readonly page: Page
  readonly done: PageRecord
}

const desk = { width: 1_280, height: 800 }

interface Opened {
  readonly browser: Browser
  readonly server: TestServer
}

class Stage {
  #opened: Opened | undefined
  #page: Page | undefined
  #turns = 0

  async open(nodes: ReadonlyArray<NodeType>): Promise<void> {
    const [server, browser] = await Promise.all([
      TestServer.start(nodes),
      launchChromium(),
      buildPage(),
    ])
    this.#opened = { browser, server }
  }

  async close(): Promise<void> {
    await this.#opened?.browser.close()
    await this.#opened?.server.close()
  }

  get server(): TestServer {
    return this.#parts.server
  }

  get #parts(): Opened {
    if (this.#opened === undefined) throw new Error("The stage is not open: see Browser.test.ts")
    return this.#opened
  }

  /** Tabs with a storage of their own, until the test ends. */
  async newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await this.#newContext(options)
    onTestFinished(() => context.close())
    return context
  }

  async #newContext(options: BrowserContextOptions): Promise<BrowserContext> {
    const context = await this.#parts.browser.newContext({ viewport: desk, ...options })
    context.setDefaultTimeout(patienceMillis / 5)
    return context
  }

  /** Shows something in a page of its own. */
  async openPage(asked: Asked, options: BrowserContextOptions = {}): Promise<Showing> {
    const page = await (await this.newContext(options)).newPage()
    const done = record(page, this.server.origin)
    await page.goto(this.addressOf(asked))
    return { page, done }
  }

  /** Shows something in the page that is there. */
  async show(asked: Asked, { colorScheme = "light", viewport = desk }: Look = {}) {
    onTestFailed(async () => {
      const broken = this.#page
      this.#page = undefined
      await broken?.context().close()
    })
    const page = (this.#page ??= await this.#load())
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    await page.mouse.move(0, 0)
    // What is shown fits itself into the window when it is drawn.
    await page.waitForFunction(
      ({ height, width }) => innerWidth === width && innerHeight === height,
      viewport,
    )
    page.removeAllListeners()
    const done = record(page, this.server.origin)
    await page.evaluate(
      (address) =>
        new Promise<void>((resolve) => {
          localStorage.clear()
          sessionStorage.clear()
          addEventListener("hashchange", () => resolve(), { once: true })
          location.href = address
        }),
      this.addressOf(asked),
    )
    return { page, done }
  }

  async #load(): Promise<Page> {
    const permissions = ["clipboard-read", "clipboard-write"]
    const page = await (await this.#newContext({ permissions })).newPage()
    await page.goto(this.addressOf({ editors: [] }))
    return page
  }

  /** The address of the page that shows this. */
  addressOf(asked: Asked): string {
    this.#turns += 1
    return this.server.addressOf({ ...asked, turn: this.#turns })
  }
}

export const stage = new Stage()
