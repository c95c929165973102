/**
 * The bounds of approvals.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** Addressees of one approval. */
export const approversPerNode = 10

/** Characters of the address of an addressee. */
export const approverLength = 200

/** Characters of the title of an approval, which is the subject of its mail. */
export const approvalTitleLength = 200

/** Characters of the description of an approval. */
export const approvalTextLength = 5_000

/** Fields of the form of an approval. */
export const approvalFields = 20

/** Characters of the name and of the label of a field. */
export const fieldNameLength = 100

/** Options of a field, and characters of each. */
export const fieldOptions = 50

/** Characters that a field of a form takes. */
export const fieldTextLength = 2_000

/** Characters of the comment of a decision, and of who decides. */
export const decisionCommentLength = 2_000

/** How often an addressee may pass an approval on to another address. */
export const delegationsPerApprover = 5

/** Reminders that an approval sends at most. */
export const remindersPerApproval = 20

/** The shortest time between two reminders: a minute. */
export const reminderMillis = 60_000

/** How often a mail of an approval is sent again that the mail server did not take. */
export const approvalMailTries = 5

/** Bytes of a request of the page on which a person decides. */
export const approvalBodyBytes = 131_072

/** Characters of the token of a link at most. */
export const approvalTokenLength = 2_000
