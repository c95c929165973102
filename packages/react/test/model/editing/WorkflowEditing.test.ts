/**
 * What somebody has typed reaches the server, or stays in the browser until it does.
 */
import type { Engine } from "millrace"
import { createEngine } from "millrace"
import { MillraceError } from "@millrace/api/PromiseClient"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { clearDraftsIn, hasDraftsIn } from "../../../src/model/editing/DraftStore.ts"
import type { WorkflowEditing } from "../../../src/model/editing/WorkflowEditing.ts"
import { EditingWorld } from "./EditingWorld.ts"
import { documentWith, edge } from "./RandomEditing.ts"

let engine: Engine
let world: EditingWorld
let workflowId: string

beforeAll(async () => {
  engine = await createEngine()
})

afterAll(() => engine.close())

beforeEach(async () => {
  world = new EditingWorld(engine)
  const document = { ...documentWith("a", "b", "c"), edges: [edge("a", "b")] }
  workflowId = (await engine.workflows.create(document)).id
})

const label = (editing: WorkflowEditing, nodeId: string, value: string) =>
  editing.do({ type: "setData", nodeId, key: "label", value })

const labels = ({ nodes }: { readonly nodes: ReadonlyArray<{ readonly data?: unknown }> }) =>
  nodes.map(({ data }) => (data as { readonly label: string }).label)

const shown = (editing: WorkflowEditing) => labels(editing.read().document!)

const stored = async () => labels(await world.stored(workflowId))

const updates = () => world.calls.filter((name) => name === "updateTagged").length

const refused = (status: number, code: MillraceError["code"], sentence: string) =>
  new MillraceError(code, sentence, { status })

describe("WorkflowEditing", () => {
  it("saves 800 ms after the last change, once", async () => {
    const editing = await world.open(workflowId)
    expect(editing.read()).toMatchObject({ saving: "saved", isLoading: false, isUnsaved: false })
    label(editing, "a", "x")
    await world.pass(700)
    label(editing, "a", "xy")
    expect(editing.read()).toMatchObject({ saving: "changed", isUnsaved: true })
    await world.pass(799)
    expect(updates()).toBe(0)
    await world.pass(1)
    expect(updates()).toBe(1)
    expect(await stored()).toEqual(["xy", "b", "c"])
    expect(editing.read()).toMatchObject({ saving: "saved", savedRevision: '"2"' })
    await world.pass(60_000)
    expect(updates()).toBe(1)
  })

  it("saves at once when it is told to, and sends only what has changed", async () => {
    const editing = await world.open(workflowId)
    editing.do({ type: "setDocument", name: "Renamed" })
    await editing.save()
    expect((await world.stored(workflowId)).name).toBe("Renamed")
    expect(editing.read().saving).toBe("saved")
  })

  it("has one save in flight; what is typed meanwhile is the next one", async () => {
    const editing = await world.open(workflowId)
    label(editing, "a", "first")
    const saving = editing.save()
    expect(editing.read().saving).toBe("saving")
    label(editing, "a", "second")
    const again = editing.save()
    expect(updates()).toBe(1)
    await Promise.all([saving, again])
    await world.settle()
    expect(updates()).toBe(2)
    expect(await stored()).toEqual(["second", "b", "c"])
    expect(world.storage.items.size).toBe(0)
  })

  it("saves nothing from a hidden tab, and all of it once the tab is visible", async () => {
    const editing = await world.open(workflowId)
    label(editing, "a", "x")
    world.isVisible = false
    await world.pass(60_000)
    expect(updates()).toBe(0)
    expect(hasDraftsIn(world.storage, "ada")).toBe(true)
    world.isVisible = true
    editing.wake()
    await world.settle()
    expect(await stored()).toEqual(["x", "b", "c"])
  })

  it("merges what somebody else has saved into different nodes, and both stay", async () => {
    const [one, other] = [await world.open(workflowId), await world.open(workflowId)]
    label(one, "a", "one")
    await world.pass(800)
    label(other, "b", "other")
    await world.pass(800)
    expect(await stored()).toEqual(["one", "other", "c"])
    expect(shown(other)).toEqual(["one", "other", "c"])
    expect(shown(one)).toEqual(["one", "b", "c"])
    await one.refresh()
    expect(shown(one)).toEqual(["one", "other", "c"])
    one.undo()
    await world.pass(800)
    expect(await stored()).toEqual(["a", "other", "c"])
  })

  it("asks about what both have changed, and saves nothing before the choice", async () => {
    const [one, other] = [await world.open(workflowId), await world.open(workflowId)]
    label(one, "a", "one")
    await world.pass(800)
    label(other, "a", "other")
    label(other, "c", "other")
    await world.pass(800)
    const { conflicts, saving } = other.read()
    expect([saving, conflicts.length]).toEqual(["conflict", 1])
    expect(conflicts[0]).toMatchObject({ base: "a", mine: "other", theirs: "one" })
    label(other, "b", "more")
    await world.pass(60_000)
    expect(await stored()).toEqual(["one", "b", "c"])
    other.resolve({ [conflicts[0]!.id]: "theirs" })
    await world.settle()
    expect(other.read()).toMatchObject({ saving: "saved", conflicts: [] })
    expect(await stored()).toEqual(["one", "more", "other"])
  })

  it("asks no more once both have typed the same", async () => {
    const [one, other] = [await world.open(workflowId), await world.open(workflowId)]
    label(one, "a", "one")
    await world.pass(800)
    label(other, "a", "other")
    await world.pass(800)
    label(other, "a", "one")
    await world.pass(800)
    expect(other.read()).toMatchObject({ saving: "saved", conflicts: [] })
  })

  it("gives my node another id if somebody else has used it, and can still undo it", async () => {
    const [one, other] = [await world.open(workflowId), await world.open(workflowId)]
    const add = (editing: WorkflowEditing, name: string) => {
      const node = { ...documentWith("text").nodes[0]!, data: { label: name } }
      editing.do({ type: "add", nodes: [node], edges: [edge("c", "text")] })
      editing.select({ nodeIds: ["text"] })
    }
    add(one, "one")
    await world.pass(800)
    add(other, "other")
    await world.pass(800)
    expect(await stored()).toEqual(["a", "b", "c", "one", "other"])
    expect([...other.read().selection.nodeIds]).toEqual(["text_2"])
    other.undo()
    await world.pass(800)
    expect(await stored()).toEqual(["a", "b", "c", "one"])
    expect((await world.stored(workflowId)).edges).toHaveLength(2)
  })

  it("tries again after longer and longer, and loses nothing that is typed meanwhile", async () => {
    const editing = await world.open(workflowId)
    world.weather = () => "unreachable"
    label(editing, "a", "x")
    await world.pass(800)
    expect(editing.read()).toMatchObject({ saving: "offline", isUnsaved: true })
    label(editing, "b", "y")
    await world.pass(1_000 + 2_000 + 4_000)
    expect(updates()).toBe(4)
    await world.pass(600_000)
    expect(updates()).toBeLessThan(30)
    world.weather = () => "fine"
    editing.wake()
    await world.settle()
    expect(await stored()).toEqual(["x", "y", "c"])
    expect(editing.read().saving).toBe("saved")
  })

  it("does not take its own save for somebody else's, if nobody has answered it", async () => {
    const editing = await world.open(workflowId)
    world.weather = (operation) => (operation === "updateTagged" ? "unanswered" : "fine")
    label(editing, "a", "x")
    await world.pass(800)
    expect(await stored()).toEqual(["x", "b", "c"])
    label(editing, "a", "xy")
    world.weather = () => "fine"
    await world.pass(2_000)
    expect(editing.read()).toMatchObject({ saving: "saved", conflicts: [] })
    expect(await stored()).toEqual(["xy", "b", "c"])
  })

  it("offers to save a workflow as a new one that was deleted meanwhile", async () => {
    const editing = await world.open(workflowId)
    await engine.workflows.remove(workflowId)
    label(editing, "a", "x")
    await world.pass(800)
    expect(editing.read().saving).toBe("gone")
    label(editing, "b", "y")
    await world.pass(60_000)
    expect([editing.read().saving, updates()]).toEqual(["gone", 1])
    const copy = await editing.saveAsNew("Copy")
    const { name, nodes } = await engine.workflows.get(copy)
    expect([name, labels({ nodes })]).toEqual(["Copy", ["x", "y", "c"]])
    expect(editing.read().isUnsaved).toBe(false)
    expect(hasDraftsIn(world.storage, "ada")).toBe(false)
  })

  it("keeps what is typed when the session ends, and saves it after the next sign-in", async () => {
    const editing = await world.open(workflowId)
    world.refusal = refused(401, "SESSION_REFUSED", "The session has ended.")
    label(editing, "a", "x")
    await world.pass(800)
    expect(editing.read().saving).toBe("signedOut")
    world.crash()
    world.refusal = undefined
    const next = await world.open(workflowId)
    expect(next.read()).toMatchObject({ saving: "saved" })
    expect(await stored()).toEqual(["x", "b", "c"])
  })

  it("says why the server refuses, and tries the next change again", async () => {
    const editing = await world.open(workflowId)
    world.refusal = refused(403, "FORBIDDEN", "A viewer may not change workflows.")
    label(editing, "a", "x")
    await world.pass(800)
    expect(editing.read()).toMatchObject({
      saving: "refused",
      savingProblem: "A viewer may not change workflows.",
    })
    world.refusal = undefined
    editing.do({ type: "setDocument", name: "" })
    await world.pass(800)
    expect(editing.read().saving).toBe("refused")
    expect(editing.read().savingProblem).toMatch(/^name: /)
    editing.undo()
    await world.pass(800)
    expect(editing.read()).toMatchObject({ saving: "saved", savingProblem: undefined })
    expect(await stored()).toEqual(["x", "b", "c"])
  })

  it("disables several nodes in one step", async () => {
    const editing = await world.open(workflowId)
    editing.do({ type: "disable", nodeIds: ["a", "c"], isDisabled: true })
    const disabled = () =>
      editing
        .read()
        .document!.nodes.filter(
          ({ data }) => (data as { readonly disabled?: boolean }).disabled === true,
        )
        .map(({ id }) => id)
    expect(disabled()).toEqual(["a", "c"])
    editing.undo()
    expect([disabled(), editing.read().canUndo]).toEqual([[], false])
  })

  it("undoes and redoes, and knows what is selected", async () => {
    const editing = await world.open(workflowId)
    expect([editing.undo(), editing.redo()]).toEqual([false, false])
    editing.select({ nodeIds: ["a", "c"], edgeIds: ["a-b"] })
    expect(editing.do({ type: "remove", nodeIds: ["a"], edgeIds: [] })).toBe(true)
    expect(editing.do({ type: "remove", nodeIds: ["a"], edgeIds: [] })).toBe(false)
    const { canRedo, canUndo, selection } = editing.read()
    expect([canUndo, canRedo, [...selection.nodeIds], [...selection.edgeIds]]).toEqual([
      true,
      false,
      ["c"],
      [],
    ])
    editing.undo()
    expect(editing.read().document).toEqual(editing.read().base)
    expect(editing.read()).toMatchObject({ isUnsaved: false, saving: "saved" })
    editing.redo()
    expect(shown(editing)).toEqual(["b", "c"])
  })

  it("validates what is not saved 300 ms after the last change", async () => {
    const editing = await world.open(workflowId)
    await world.pass(0)
    expect(editing.read().validation?.nodes.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c"])
    editing.do({ type: "setData", nodeId: "a", key: "version", value: 99 })
    expect(editing.read().isValidated).toBe(false)
    await world.pass(300)
    expect(editing.read().isValidated).toBe(true)
    const said = editing.read().validation?.problems.map(({ message }) => message)
    expect(said).toContain('Node "a": unknown version 99 of type "constant"; it has 1')
    expect(await stored()).toEqual(["a", "b", "c"])
    expect(updates()).toBe(0)
  })

  it("shows what others have saved to somebody who comes back after a while", async () => {
    const editing = await world.open(workflowId)
    await engine.workflows.update(workflowId, { name: "Other" })
    editing.wake()
    await world.settle()
    expect(editing.read().document?.name).toBe("Sample")
    await world.pass(60_000)
    editing.wake()
    await world.settle()
    expect(editing.read()).toMatchObject({ saving: "saved", document: { name: "Other" } })
    await world.pass(60_000)
    world.weather = () => "unreachable"
    editing.wake()
    await world.settle()
    expect(editing.read().saving).toBe("saved")
    label(editing, "a", "x")
    await world.pass(60_000)
    expect(editing.read().saving).toBe("offline")
  })

  it("saves once more when it is closed, and can be opened again", async () => {
    const editing = await world.open(workflowId)
    label(editing, "a", "x")
    editing.close()
    await world.settle()
    expect(await stored()).toEqual(["x", "b", "c"])
    await engine.workflows.update(workflowId, { name: "Other" })
    editing.open()
    await world.settle()
    expect(editing.read().document?.name).toBe("Other")
  })

  it("says that there is no such workflow", async () => {
    const editing = await world.open("wf_none")
    expect(editing.read()).toMatchObject({ isLoading: false, saving: "gone" })
    expect(editing.read().error).toMatchObject({ code: "WORKFLOW_NOT_FOUND" })
  })

  it("reads a workflow as soon as the server answers", async () => {
    world.weather = () => "unreachable"
    const editing = await world.open(workflowId)
    expect(editing.read().document).toBeUndefined()
    expect(editing.read().error).toBeInstanceOf(TypeError)
    world.weather = () => "fine"
    await world.pass(1_000)
    expect(editing.read().error).toBeUndefined()
    expect(shown(editing)).toEqual(["a", "b", "c"])
  })
})

describe("Drafts", () => {
  const crashWith = async (value: string, nodeId = "a") => {
    const editing = await world.open(workflowId)
    world.weather = () => "unreachable"
    label(editing, nodeId, value)
    await world.pass(300)
    world.crash()
    return editing
  }

  it("are there after a reload, also while the server is dead, and are saved later", async () => {
    await crashWith("x")
    const editing = await world.open(workflowId)
    expect(shown(editing)).toEqual(["x", "b", "c"])
    expect(editing.read()).toMatchObject({ saving: "offline", isUnsaved: true })
    expect(editing.read().restoredAt).toBe(world.now - 50)
    label(editing, "b", "y")
    world.weather = () => "fine"
    await world.pass(2_000)
    expect(editing.read().saving).toBe("saved")
    expect(await stored()).toEqual(["x", "y", "c"])
    expect(world.storage.items.size).toBe(0)
  })

  it("are merged with what was saved meanwhile, and ask where both changed it", async () => {
    await crashWith("x")
    world.weather = () => "fine"
    const other = await world.open(workflowId, "bob")
    label(other, "a", "theirs")
    label(other, "b", "theirs")
    await world.pass(800)
    const editing = await world.open(workflowId)
    expect(editing.read().saving).toBe("conflict")
    const [conflict] = editing.read().conflicts
    editing.resolve({ [conflict!.id]: "mine" })
    await world.settle()
    expect(await stored()).toEqual(["x", "theirs", "c"])
    expect(world.storage.items.size).toBe(0)
  })

  it("of two tabs are both brought in, one after the other", async () => {
    await crashWith("x")
    world.weather = () => "fine"
    const tab = await world.open("wf_none")
    tab.close()
    const two = new EditingWorld(engine)
    const second = await two.open(workflowId)
    two.weather = () => "unreachable"
    two.now += 5_000
    label(second, "b", "y")
    await two.pass(300)
    for (const [key, text] of two.storage.items) world.storage.setItem(`${key}two/`, text)
    const editing = await world.open(workflowId)
    await world.pass(2_000)
    expect(editing.read().saving).toBe("saved")
    expect(await stored()).toEqual(["x", "y", "c"])
    expect(world.storage.items.size).toBe(0)
  })

  it("of a tab that is open are left to it, and taken over once it is gone", async () => {
    const one = await world.open(workflowId)
    world.weather = (operation) => (operation === "updateTagged" ? "unreachable" : "fine")
    label(one, "a", "x")
    await world.pass(300)
    const other = await world.open(workflowId)
    expect(shown(other)).toEqual(["a", "b", "c"])
    expect(other.read().restoredAt).toBeUndefined()
    world.kill(one)
    world.weather = () => "fine"
    expect(hasDraftsIn(world.storage, "ada")).toBe(true)
    const next = await world.open(workflowId)
    expect(next.read().saving).toBe("saved")
    expect(await stored()).toEqual(["x", "b", "c"])
    expect(hasDraftsIn(world.storage, "ada")).toBe(false)
  })

  it("of one user are no other user's", async () => {
    await crashWith("x")
    world.weather = () => "fine"
    expect(shown(await world.open(workflowId, "bob"))).toEqual(["a", "b", "c"])
    expect([hasDraftsIn(world.storage, "ada"), hasDraftsIn(world.storage, "bob")]).toEqual([
      true,
      false,
    ])
    clearDraftsIn(world.storage, "ada")
    expect(hasDraftsIn(world.storage, "ada")).toBe(false)
    expect(shown(await world.open(workflowId))).toEqual(["a", "b", "c"])
  })

  it("can be discarded, which can be undone", async () => {
    await crashWith("x")
    const editing = await world.open(workflowId)
    editing.discardDraft()
    expect(shown(editing)).toEqual(["a", "b", "c"])
    await world.pass(1_000)
    expect(hasDraftsIn(world.storage, "ada")).toBe(false)
    editing.undo()
    expect(shown(editing)).toEqual(["x", "b", "c"])
  })

  it("that no server would store are there all the same", async () => {
    const editing = await world.open(workflowId)
    editing.do({ type: "setDocument", name: "" })
    await world.pass(800)
    expect(editing.read().saving).toBe("refused")
    world.crash()
    const circle = [edge("a", "b"), edge("b", "a")]
    for (const [key, text] of world.storage.items) {
      const draft = JSON.parse(text) as { document: object }
      world.storage.setItem(
        key,
        JSON.stringify({ ...draft, document: { ...draft.document, edges: circle } }),
      )
    }
    const next = await world.open(workflowId)
    expect(next.read()).toMatchObject({ isUnsaved: true, document: { name: "" } })
    expect(next.read().document?.edges).toHaveLength(2)
  })

  it("that do not fit are told, and what does not read as a draft is left alone", async () => {
    const editing = await world.open(workflowId)
    world.weather = () => "unreachable"
    world.storage.room = 100
    label(editing, "a", "x")
    await world.pass(300)
    expect(editing.read().draftKeeping).toBe("full")
    world.storage.room = 1e9
    label(editing, "a", "xy")
    await world.pass(300)
    expect(editing.read().draftKeeping).toBe("kept")
    world.crash()
    for (const key of world.storage.items.keys()) world.storage.setItem(key, '{"base":{}}')
    world.weather = () => "fine"
    expect(shown(await world.open(workflowId))).toEqual(["a", "b", "c"])
  })
})
