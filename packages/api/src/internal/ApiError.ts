/**
 * What a server refuses, as an error of JavaScript.
 *
 * Guarantees: everything that the answer says about the refusal, and nothing of the request. Leaves
 * out: a server that does not answer; that is the error of `fetch`.
 */

/** A request that was refused. `message` is the sentence that the server gave. */
export class ApiError extends Error {
  /** The status of the answer, 400 or above. */
  readonly status: number
  /** What went wrong, for programs: `X-Error-Code`. */
  readonly code: string
  /** The name of the request in the operator's log. */
  readonly requestId: string | null
  /** After how many seconds the request may come again, where the server says so. */
  readonly retryAfterSeconds: number | null

  constructor(response: Response, message: string) {
    super(message)
    this.name = "ApiError"
    this.status = response.status
    this.code = response.headers.get("x-error-code") ?? "unknown"
    this.requestId = response.headers.get("x-request-id")
    const seconds = response.headers.get("retry-after")
    this.retryAfterSeconds = seconds === null ? null : Number(seconds)
  }
}

const sentenceOf = (text: string): string | undefined => {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown }
    return typeof error === "string" ? error : undefined
  } catch {
    return undefined
  }
}

/** The error for an answer; also for one that does not come from a server of ours. */
export const ofResponse = async (response: Response): Promise<ApiError> =>
  new ApiError(response, sentenceOf(await response.text()) ?? `The answer was ${response.status}`)
