/** The channel of Postgres on which processes tell each other of runs. */
export const channel = "millrace_runs"
