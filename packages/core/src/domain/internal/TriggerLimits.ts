/**
 * The bounds of triggers.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** Triggers of one workflow. */
export const triggersPerWorkflow = 100

/** The last time that a trigger may name: the end of the year 9999. */
export const lastTriggerTime = 253_402_300_799_999

/** Characters of the cron text of a schedule. */
export const cronLength = 200

/** Characters of the name of a time zone. */
export const timezoneLength = 64

/** Seconds between two times of a schedule at most: 366 days. */
export const everySeconds = 31_622_400

/** Seconds by which the starts of a schedule may be spread: an hour. */
export const jitterSeconds = 3_600

/** The next times of a schedule that are shown. */
export const timesShown = 10

/** Times that are further away are not shown: ten years. Only the first one always is. */
export const timesShownMillis = 315_576_000_000

/** A time that is started later than this is late; `catchUp` says what becomes of it. */
export const lateMillis = 60_000

/** How many times that passed during a pause a schedule catches up: the latest ones. */
export const timesCaughtUp = 1_000

/** How many of them are looked at, and counted as missed, where not all are caught up. */
export const timesCounted = 100

/** Runs that one schedule starts with one claim. */
export const startsPerClaim = 100

/** Schedules that one look for due ones takes. */
export const triggersPerClaim = 200

/** Schedules whose runs one process starts at the same time. */
export const triggersAtOnce = 100

/** How long a process has for schedules that it has taken. After that another one takes them. */
export const triggerLeaseMillis = 15_000

/** How often a process looks for schedules that others have made, if none is due before. */
export const triggerPollMillis = 5_000

/** How often a change of a trigger is tried, where its times come meanwhile. */
export const triggerWriteAttempts = 10

/** Cron texts that a process keeps read, and next times that it remembers. */
export const calendarsKept = 1_000

/** Networks that an inbound webhook may list. */
export const networksPerWebhook = 100

/** Characters of a header's name, of a signature's prefix, and of what is signed. */
export const webhookCheckLength = 200

/** Fields whose values an inbound webhook may take from a request. */
export const fieldsPerWebhook = 100

/** Characters of the place of such a value. */
export const placeLength = 500

/** Seconds by which the time of a signature may differ, where nothing else is said. */
export const usualToleranceSeconds = 300

/** Seconds by which it may differ at most: an hour. */
export const toleranceSeconds = 3_600

/** How long a sender waits for the output of its run. */
export const webhookWaitMillis = 30_000

/** Runs that follow each other's ends by triggers at most, so that no cycle goes on for ever. */
export const runsInSequence = 10

/** How long the test address of an inbound webhook answers. */
export const webhookTestMillis = 3_600_000

/** Requests that are kept of a test of an inbound webhook. */
export const keptRequests = 20

/** Bytes that are kept of the body of such a request; characters of its query and its values. */
export const keptRequestLength = 8_192

/** Headers that are kept of it, and characters of each. */
export const keptRequestHeaders = 50
export const keptRequestHeaderLength = 512
