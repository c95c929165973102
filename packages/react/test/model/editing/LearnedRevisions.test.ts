/**
 * An editor that learns which revision is stored reads what others have saved, and no more.
 */
import type { Engine } from "millrace"
import { createEngine } from "millrace"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { WorkflowEditing } from "../../../src/model/editing/WorkflowEditing.ts"
import { EditingWorld } from "./EditingWorld.ts"
import { documentWith } from "./RandomEditing.ts"

let engine: Engine
let world: EditingWorld
let workflowId: string

beforeAll(async () => {
  engine = await createEngine()
})

afterAll(() => engine.close())

beforeEach(async () => {
  world = new EditingWorld(engine)
  workflowId = (await engine.workflows.create(documentWith("a", "b", "c"))).id
})

const label = (editing: WorkflowEditing, nodeId: string, value: string) =>
  editing.do({ type: "setData", nodeId, key: "label", value })

const labels = ({ nodes }: { readonly nodes: ReadonlyArray<{ readonly data?: unknown }> }) =>
  nodes.map(({ data }) => (data as { readonly label: string }).label)

const shown = (editing: WorkflowEditing) => labels(editing.read().document!)

const stored = async () => labels(await world.stored(workflowId))

describe("WorkflowEditing.learn", () => {
  it("shows what others have saved once it learns of it, and reads nothing else", async () => {
    const [editing, other] = [await world.open(workflowId), await world.open(workflowId)]
    const reads = () => world.calls.filter((name) => name === "getTagged").length
    label(other, "b", "theirs")
    await other.save()
    const before = reads()
    other.learn('"2"')
    await world.settle()
    expect(reads()).toBe(before)
    label(editing, "a", "mine")
    editing.learn('"2"')
    await world.settle()
    expect(shown(editing)).toEqual(["mine", "theirs", "c"])
    expect(await stored()).toEqual(["mine", "theirs", "c"])
    label(editing, "c", "more")
    const saving = editing.save()
    // The stream tells of the save before its own answer has arrived.
    editing.learn('"4"')
    const after = reads()
    await saving
    await world.settle()
    expect(reads()).toBe(after)
  })

  it("asks about what both have changed as soon as it learns that it is outdated", async () => {
    const [editing, other] = [await world.open(workflowId), await world.open(workflowId)]
    world.weather = (operation) => (operation === "updateTagged" ? "unreachable" : "fine")
    label(editing, "a", "mine")
    await world.pass(800)
    expect(editing.read().saving).toBe("offline")
    world.weather = () => "fine"
    label(other, "a", "theirs")
    await other.save()
    editing.learn('"2"')
    await world.settle()
    expect(editing.read().saving).toBe("conflict")
  })
})
