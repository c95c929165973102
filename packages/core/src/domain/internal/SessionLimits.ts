/**
 * The bounds of sessions and tickets.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** Requests a minute of one session, on all servers together. */
export const requestsPerSessionMinute = 600

/** How long a ticket waits to be redeemed: ten minutes. */
export const ticketMillis = 600_000

/** How long a session lives at most: seven days. */
export const sessionMillis = 604_800_000

/** How long a session lives where nothing is asked for: an hour. */
export const usualSessionMillis = 3_600_000

/** A session that a ticket began ends when nobody has used it for so long: eight hours. */
export const sessionIdleMillis = 28_800_000

/** Live sessions of one account; those that are made at the same time may go slightly beyond. */
export const sessionsPerAccount = 10_000

/** Sessions that a listing shows, the newest ones. */
export const sessionsListed = 1_000

/** Workflows that one session may name. */
export const workflowsPerSession = 100

/** People that one reader is told of who have the same workflow open; of others, how many. */
export const peopleListed = 20

/** How often a process looks which of the sessions with open streams are over. */
export const sessionLookMillis = 2_000

/** How often a process looks whether another one has saved a workflow that is open. */
export const openWorkflowMillis = 10_000

/** How long a session lives at most that was made by somebody whom an application has signed in. */
export const grantedMillis = 900_000

/** How often an application is asked whether it still grants what a stream of it shows. */
export const grantLookMillis = 10_000
