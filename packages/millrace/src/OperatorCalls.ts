/**
 * What the owner of an engine does for the whole store: audits, runs in quarantine, and node types
 * in use.
 */
import type * as Credits from "@millrace/api/AdminCreditsWire"
import type * as TypeWire from "@millrace/api/AdminNodeTypeWire"
import type * as Wire from "@millrace/api/AdminQuarantineWire"
import type { AdminCall, Operations } from "@millrace/http/DirectTransport"
import { makeAdmin } from "@millrace/http/DirectTransport"
import type { Runtime } from "./internal/Runtime.ts"

/** A run that has lost processes while one of its nodes was in progress. */
export type QuarantinedRun = typeof Wire.QuarantinedRun.Encoded

/** A run that was ended in quarantine. */
export type EndedRun = typeof Wire.EndedRun.Encoded

/** How many accounts were read, and what does not add up. */
export type AuditReport = typeof Credits.AuditReport.Encoded

/** Runs in quarantine, of all accounts. An unknown id rejects with `NOT_IN_QUARANTINE`. */
export interface QuarantinedRuns {
  /** Oldest first, a thousand at most. */
  list(): Promise<ReadonlyArray<QuarantinedRun>>
  /** Forgets what the run has lost: it is executed like any other from now on. */
  release(runId: string): Promise<void>
  /** Fails the run at once. Its error says what had happened to it. */
  end(runId: string): Promise<EndedRun>
}

/** A version of a node type, and where nodes of it are. */
export type TypeInUse = typeof TypeWire.TypeInUse.Encoded

/** What only the owner of an engine may do. */
export interface OperatorCalls {
  /** Runs that have lost too many processes, and wait for a decision. */
  readonly quarantine: QuarantinedRuns
  /** Reads every entry of every account's ledger, and names what does not add up. */
  audit(): Promise<AuditReport>
  /**
   * All versions of node types that the engine has, or that are in use in any account, by type. A
   * version that no draft, no published version and no open run has can be taken away; only reruns
   * of ended runs may need it. Reads every drawing.
   */
  typesInUse(): Promise<ReadonlyArray<TypeInUse>>
}

/** Calls an operation of operators. */
export const operatorOf = (runtime: Runtime<Operations>) => makeAdmin(runtime.callUntil)

/** The calls for the whole store. */
export const make = (runtime: Runtime<Operations>): OperatorCalls => {
  const call = operatorOf(runtime)
  const ofRun = (operation: AdminCall["operation"], id: string) =>
    call({ operation, params: { id } })
  return {
    quarantine: {
      list: async () => {
        const answer = await call({ operation: "quarantine.list" })
        return (answer as typeof Wire.QuarantinedRuns.Encoded).items
      },
      release: async (id) => void (await ofRun("quarantine.release", id)),
      end: async (id) => (await ofRun("quarantine.end", id)) as EndedRun,
    },
    typesInUse: async () =>
      ((await call({ operation: "types.list" })) as typeof TypeWire.TypesInUse.Encoded).items,
    audit: async () => (await call({ operation: "audit.audit" })) as AuditReport,
  }
}
