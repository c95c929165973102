/**
 * The pauses of all triggers in a simulation of schedules, as the store has seen them, and what
 * they excuse.
 */

/** One pause. `since` and `until` are as they were asked for, the others by the store's clock. */
export interface Pause {
  readonly since: number
  /** From here on every claim knows of it. */
  readonly storedAt: number
  until: number
  /** Until here claims may believe in it. */
  endedAt: number
}

/** The last moment of a pause, by the store's clock or by that of whoever has ended it. */
const lastOf = ({ endedAt, until }: Pause): number => Math.max(endedAt, until)

/** Whether what is due then surely comes to nothing. */
export const isStopped = (pauses: ReadonlyArray<Pause>, due: number): boolean =>
  pauses.some(({ since, storedAt, until }) => due > Math.max(since, storedAt) && due < until)

/** Whether what is due then may come to nothing, without being counted. */
export const mayBeDropped = (pauses: ReadonlyArray<Pause>, due: number): boolean =>
  pauses.some((pause) => due >= pause.since && due <= lastOf(pause))

/** Whether it surely comes to nothing, without being counted: only the last pause is known. */
export const isDropped = (pauses: ReadonlyArray<Pause>, due: number): boolean =>
  isStopped(pauses.slice(-1), due)

/** Whether what was due then may have been given up because of a pause. */
export const mayBeGivenUp = (pauses: ReadonlyArray<Pause>, due: number): boolean =>
  pauses.some((pause) => due <= lastOf(pause))
