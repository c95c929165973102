/**
 * Who else is there, in words: names, and how many without one there are in each role.
 */
import type { FollowedWorkflow, PresentPerson } from "../model/WorkflowFollower.ts"

/** How people are called. */
export interface PeopleMessages {
  readonly peopleInRole: Readonly<Record<PresentPerson["role"], (count: number) => string>>
  readonly youElsewhere: string
  readonly morePeople: (count: number) => string
}

/** How somebody is called. */
export const personText = (
  { name, role }: Pick<PresentPerson, "name" | "role">,
  { peopleInRole }: PeopleMessages,
): string => name ?? peopleInRole[role](1)

/** Who else is there: the viewer in another tab, names, roles, and how many more. */
export const otherPeople = (
  { more, people }: FollowedWorkflow["presence"],
  messages: PeopleMessages,
): ReadonlyArray<string> => {
  const others = people.filter(({ isSelf }) => !isSelf)
  const isElsewhere = people.some(({ isSelf, tabs }) => isSelf && tabs > 1)
  const names = new Set(others.flatMap(({ name }) => name ?? []))
  const roles = Map.groupBy(
    others.filter(({ name }) => name === null),
    ({ role }) => role,
  )
  return [
    ...(isElsewhere ? [messages.youElsewhere] : []),
    ...names,
    ...Array.from(roles, ([role, found]) => messages.peopleInRole[role](found.length)),
    ...(more === 0 ? [] : [messages.morePeople(more)]),
  ]
}
