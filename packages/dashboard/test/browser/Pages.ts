/**
 * The pages of the dashboard: their addresses, and what says that they are read.
 *
 * Leaves out: what has to be there first; a workflow "Failing", a run of it, and one thing in each
 * list.
 */
import type { Page } from "playwright-core"

/** A page, its address, and something that is there once it is read. */
export type Place = readonly [name: string, path: string, sign: string]

/** Where the page of one workflow and that of one run are. */
export interface Made {
  /** Of the workflow. */
  readonly id: string
  readonly runId: string
}

/** All pages of an operator. */
export const pagesOf = ({ id, runId }: Made): ReadonlyArray<Place> => [
  ["Workflows", "/", "Order digest"],
  ["Failing", `/workflows/${id}`, "No problems"],
  ["Failing", `/workflows/${id}?tab=versions`, "No version is published"],
  ["Failing", `/workflows/${id}?tab=runs`, "Failed"],
  ["Failing", `/workflows/${id}?tab=triggers`, "schedule"],
  ["Failing", `/workflows/${id}?tab=json`, "Save"],
  ["Failing", `/workflows/${id}?tab=settings`, "Name"],
  ["Runs", "/runs", "Live"],
  ["Run", `/runs/${runId}`, "out of stock"],
  ["Approvals", "/approvals", "Refund 900 EUR?"],
  ["Deliveries", "/deliveries", "webhook.test"],
  ["Usage", "/usage", "Available credits"],
  ["Node types", "/node-types", "http_request"],
  ["API keys", "/keys", "Last used"],
  ["Secrets", "/secrets", "API_KEY"],
  ["Sessions", "/sessions", "Last used"],
  ["Accounts", "/accounts", "default"],
  ["Grants", "/grants", "welcome"],
  ["Health", "/health", "No run is in quarantine"],
  ["Settings", "/settings", "Theme"],
  ["Not found", "/nowhere", "There is no page"],
]

/** Waits for the heading of a page. */
export const title = (page: Page, name: string): Promise<void> =>
  page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

/** Waits until a page is read. */
export const isRead = async (page: Page, [name, , sign]: Place): Promise<void> => {
  await title(page, name)
  await page.getByRole("main").getByText(sign).first().waitFor()
}
