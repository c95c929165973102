/**
 * What all components below `<Millrace>` share.
 */
import type { Client } from "@millrace/api/PromiseClient"
import type { QueryClient } from "@tanstack/react-query"
import { createContext, useContext } from "react"
import type { Messages } from "../Messages.ts"
import type { DraftStore } from "../model/editing/DraftStore.ts"
import type { RunFollower } from "../model/RunFollower.ts"
import type { WorkflowFollower } from "../model/WorkflowFollower.ts"
import type { TimeFormat } from "./TimeFormat.ts"

/** What `<Millrace>` gives to the components below it. */
export interface Surroundings {
  readonly client: Client
  readonly queries: QueryClient
  readonly runs: RunFollower
  readonly workflows: WorkflowFollower
  /** Where unsaved work stays until it is saved. */
  readonly drafts: DraftStore
  readonly messages: Messages
  readonly times: TimeFormat
  /** For the styles that the JSON viewer writes. */
  readonly nonce: string | undefined
  /** The address of the server for commands to copy. */
  readonly url: string | undefined
}

/** Below `<Millrace>`. */
export const SurroundingsContext = createContext<Surroundings | undefined>(undefined)

/** What `<Millrace>` gives. Throws outside of it. */
export const useSurroundings = (): Surroundings => {
  const found = useContext(SurroundingsContext)
  if (found === undefined)
    throw new Error("Put this component or hook below <Millrace client={...}>")
  return found
}
