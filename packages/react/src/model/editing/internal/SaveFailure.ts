/**
 * Why a save has failed, as far as an editor has something to do about it.
 *
 * Guarantees: never decides by the text of a message.
 */

/**
 * `outdated`: somebody else has saved meanwhile. `offline`: nobody answers, or not now. `gone`: the
 * workflow is deleted. `signedOut`: the session has ended. `refused`: the server does not want it.
 */
export type SaveFailure =
  | { readonly kind: "outdated" | "gone" | "signedOut" }
  | { readonly kind: "refused"; readonly sentence: string }
  | { readonly kind: "offline"; readonly afterSeconds: number | undefined }

interface ErrorFields {
  readonly code?: unknown
  readonly status?: unknown
  readonly message?: unknown
  readonly retryAfterSeconds?: unknown
}

/** Answers after which the same request may succeed. */
const passing: ReadonlySet<number> = new Set([408, 409, 425, 429])

/** What an error of a call means for a save. */
export const failureOf = (error: unknown): SaveFailure => {
  const { code, message, retryAfterSeconds, status } = (error ?? {}) as ErrorFields
  const afterSeconds = typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined
  if (typeof status !== "number" || status >= 500 || passing.has(status))
    return { kind: "offline", afterSeconds }
  if (status === 412) return { kind: "outdated" }
  if (status === 401) return { kind: "signedOut" }
  if (code === "WORKFLOW_NOT_FOUND") return { kind: "gone" }
  // A proxy or another server in the place of ours.
  if (code === "UNEXPECTED_ANSWER" && status !== 403) return { kind: "offline", afterSeconds }
  return { kind: "refused", sentence: typeof message === "string" ? message : String(error) }
}
