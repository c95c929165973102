/**
 * What must hold of every page: axe finds nothing, the console has no error, nothing is asked of
 * other hosts, and nothing is wider than the window.
 */
import axe from "axe-core"
import type { RunOnly } from "axe-core"
import type { Page, Request } from "playwright-core"

type Axe = typeof axe

/** Everything up to WCAG 2.2 AA. */
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

/** Rules about colors, for a page of which only the colors are others than before. */
const colorRules = ["color-contrast", "link-in-text-block"]

/** What axe finds, one line each; of a page that was looked at in other colors, in those alone. */
export const findingsOf = async (
  page: Page,
  { onlyColors = false }: { readonly onlyColors?: boolean } = {},
): Promise<ReadonlyArray<string>> => {
  // Reading axe takes longer than a look, so a document reads it once.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source)
  const runOnly: RunOnly = onlyColors
    ? { type: "rule", values: colorRules }
    : { type: "tag", values: tags }
  const { violations } = await page.evaluate(async (asked) => {
    const { axe: present } = window as unknown as { readonly axe: Axe }
    return present.run(document, { runOnly: asked, resultTypes: ["violations"] })
  }, runOnly)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, html }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`),
  )
}

/** By how many pixels the page is wider than the window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)

/** What a page has done since it was opened. */
export interface PageRecord {
  /** Errors in the console and uncaught ones, among them reports of the security policy. */
  readonly errors: ReadonlyArray<string>
  /** Requests to the interface, `GET /api/v1/runs/...`. */
  readonly calls: ReadonlyArray<Request>
  /** Requests to other hosts. */
  readonly foreign: ReadonlyArray<string>
}

/** Writes down what a page of this origin does. */
export const record = (page: Page, origin: string): PageRecord => {
  const errors: Array<string> = []
  const calls: Array<Request> = []
  const foreign: Array<string> = []
  page.on("pageerror", (error) => errors.push(String(error)))
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(message.text())
  })
  page.on("request", (request) => {
    const url = new URL(request.url())
    if (["data:", "blob:"].includes(url.protocol)) return
    if (url.origin !== origin) foreign.push(request.url())
    if (url.pathname.includes("/api/")) calls.push(request)
  })
  return { errors, calls, foreign }
}
