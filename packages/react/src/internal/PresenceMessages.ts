/**
 * What an editor says of others who have the same workflow open.
 */
import type { PresentPerson } from "../model/WorkflowFollower.ts"

const some = (one: string, several: string) => (count: number) =>
  count === 1 ? one : `${count} ${several}`

const peopleInRole: Readonly<Record<PresentPerson["role"], (count: number) => string>> = {
  viewer: some("a viewer", "viewers"),
  editor: some("an editor", "editors"),
  owner: some("an owner", "owners"),
  operator: some("an operator", "operators"),
}

/** The texts in English. */
export const presenceMessages = {
  peopleInRole,
  youElsewhere: "you, in another tab",
  morePeople: (count: number) => `${count} more`,
  alsoHere: (people: string) => `Also here: ${people}`,
  savedByOther: (person: string) => `Now with changes that were saved by ${person}`,
} as const
