/**
 * The bounds of listings and of what follows runs.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** Followers of runs for whom one statement reads. */
export const followersPerRead = 5_000

/** Reads for followers that may come at once before they are spaced evenly. */
export const followerReadsAtOnce = 10

/** Items of one page of a listing. */
export const itemsPerPage = 50

/** Items that a page number steps over. What is behind them is read by cursor. */
export const itemsSkipped = 10_000

/** Workflows that a listing of node types in use names of each version, at most. */
export const typeUsersListed = 10

/** Characters of the text that a listing is searched for. */
export const searchLength = 200

/** Runs that a store reads for one page of a search; beyond them it may refuse the search. */
export const runsReadBySearch = 20_000

/** Workflows whose name has a text that is searched for, and whose runs are then looked up. */
export const workflowsSearched = 1_000

/** Pages that a look at a watched listing of runs reads at most, where all of them is new. */
export const livePagesPerLook = 5

/** Looks at watched listings that a process takes at the same time. */
export const liveLooksAtOnce = 4

/** Runs of a watched listing that a process compares, and whose last change it keeps. */
export const liveChangesKept = 1_000

/** Failed runs of an account among which those of single workflows are counted. */
export const failuresRead = 10_000
