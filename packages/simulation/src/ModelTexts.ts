/**
 * Texts that random scripts name things by and search for: those that stores get wrong.
 */

/** Names of workflows. */
export const names = [
  "Invoice",
  "invoice 100%",
  "100 % Invoices",
  "snake_case",
  "snakeXcase",
  "back\\slash",
  "\\%_",
  "ÄRGER über 'alles'",
  "ärger",
  "😀 smile",
  "a",
  "A; DROP TABLE runs --",
]

/** `~` stands for the beginning that the identifiers of a script's runs have in common. */
export const searches = [
  "",
  "a",
  "A",
  "INVOICE",
  "voice",
  "%",
  "_",
  "\\",
  "\\%",
  "e_c",
  "i%e",
  "ÄRGER",
  "ärg",
  "'",
  "😀",
  "node A",
  "not FOUND",
  "F_I",
  "b",
  "\u0000",
  "nothing has this",
  "~",
  "~a",
  "~B",
  "run_",
]
