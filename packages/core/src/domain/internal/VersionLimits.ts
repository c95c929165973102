/**
 * The bounds of published versions of workflows.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** Versions that are kept of one workflow. Publishing another one forgets the oldest. */
export const versionsPerWorkflow = 100

/** The last number that a version may have. */
export const lastVersionNumber = 2_147_483_647

/** Characters of the note of a version. */
export const versionNoteLength = 500

/** How often a publication is tried, where the draft is changed meanwhile. */
export const publishAttempts = 10
