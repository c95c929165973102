/**
 * Who else is there, in words.
 */
import { describe, expect, it } from "vitest"
import { presenceMessages } from "../../src/internal/PresenceMessages.ts"
import { otherPeople } from "../../src/internal/PresentPeople.ts"
import type { PresentPerson } from "../../src/model/WorkflowFollower.ts"

const person = (name: string | null, more: Partial<PresentPerson> = {}): PresentPerson => {
  return { name, role: "editor", tabs: 1, isSelf: false, ...more }
}

const said = (people: ReadonlyArray<PresentPerson>, more = 0) =>
  otherPeople({ people, more }, presenceMessages)

describe("otherPeople", () => {
  it("says nothing to somebody who is alone in one tab", () => {
    expect(said([person("Ada", { isSelf: true })])).toEqual([])
  })

  it("names another tab, then people by name once, then the others by role and number", () => {
    const people = [
      person(null, { isSelf: true, tabs: 2 }),
      person("Ada"),
      person("Ada", { tabs: 3 }),
      person(null),
      person(null),
      person(null, { role: "viewer" }),
    ]
    const elsewhere = "you, in another tab"
    expect(said(people, 4)).toEqual([elsewhere, "Ada", "2 editors", "a viewer", "4 more"])
  })
})
