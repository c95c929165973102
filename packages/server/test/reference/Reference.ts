/**
 * The pages of reference that follow from the code.
 */
import { commandPage } from "./CommandPage.ts"
import { errorsPage } from "./ErrorsPage.ts"
import { eventsPage } from "./EventsPage.ts"
import { limitsPage } from "./LimitsPage.ts"
import { nodeTypesPage } from "./NodeTypesPage.ts"
import { settingsPage } from "./SettingsPage.ts"
import type { ReferencePage } from "./Table.ts"

export { root } from "./Table.ts"

/** Every page, as the code is now. */
export const referencePages = async (): Promise<ReadonlyArray<ReferencePage>> => [
  settingsPage(),
  limitsPage(),
  errorsPage(),
  eventsPage(),
  nodeTypesPage(),
  await commandPage(),
]
