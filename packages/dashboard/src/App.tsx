/**
 * The entry of the dashboard. Leaves out: pages; there are none yet.
 */
import { Millrace } from "@millrace/react"

/** What stands above all pages. */
export const root = Millrace
