/**
 * The slots by which a random script names things: see `ModelCommands`.
 */

/** How many things of each kind a script knows. */
export const slots = {
  accounts: 3,
  runners: 3,
  workflows: 7,
  runs: 9,
  keys: 16,
  definitions: 3,
  labels: 24,
} as const
