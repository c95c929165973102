/**
 * What a server says of a failure, as a part of a sentence.
 */

const shownLength = 500

/** The text in one line and without control characters, cut where it is long. */
export const shown = (text: string): string =>
  Array.from(text.slice(0, 2 * shownLength).replace(/[\s\p{Cc}]+/gu, " "))
    .slice(0, shownLength)
    .join("")
