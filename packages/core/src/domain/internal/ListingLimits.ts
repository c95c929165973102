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

/** Characters of the text that a listing is searched for. */
export const searchLength = 200

/** Runs that a store reads for one page of a search; beyond them it may refuse the search. */
export const runsReadBySearch = 20_000

/** Workflows whose name has a text that is searched for, and whose runs are then looked up. */
export const workflowsSearched = 1_000

/** Failed runs of an account among which those of single workflows are counted. */
export const failuresRead = 10_000
