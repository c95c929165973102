/**
 * Whose unsaved drawings this browser keeps.
 *
 * Guarantees: they outlive a session, which ends while somebody draws; an explicit sign-out removes
 * them. Leaves out: telling two people apart who share a browser and an account: sessions have no
 * names.
 */
import type { SessionItem as Session } from "@millrace/api/ConsoleClient"

/** A name for the drafts of whoever is signed in. */
export const draftUserOf = ({ account, role }: Session): string =>
  role === "operator" ? "operator" : `person of ${account?.id ?? "nobody"}`
