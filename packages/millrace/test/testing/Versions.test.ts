// What is published of workflows, and what triggers, children and reruns take of them.
import { testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"

const open = async () => {
  const engine = await testEngine({})
  const says = (text: string) =>
    engine
      .workflow("Says")
      .node("in", "request")
      .node("say", "constant", { value: text })
      .node("out", "response")
      .edge("say.output", "out.input")
  const { id } = await engine.workflows.create(says("one"))
  await engine.workflows.publish(id)
  const { edges, nodes } = says("two")
  await engine.workflows.update(id, { edges, nodes })
  const outputOf = async (runId: string) => (await engine.runs.wait(runId)).output
  return { engine, id, says, outputOf, [Symbol.asyncDispose]: () => engine.close() }
}

/** What a builder has drawn, for a change. */
const drawn = ({ edges, nodes }: ReturnType<Awaited<ReturnType<typeof open>>["says"]>) => ({
  edges,
  nodes,
})

describe("A published version", () => {
  it("is what a schedule and a run's end start, and what the run names", async () => {
    await using at = await open()
    const { engine, id, outputOf, says } = at
    const follower = await engine.workflows.create(says("after one"))
    await engine.workflows.publish(follower.id)
    await engine.workflows.update(follower.id, drawn(says("after two")))
    await engine.triggers.create(follower.id, { type: "run_end", watch: id })
    await engine.triggers.create(id, { type: "schedule", everySeconds: 60 })
    await engine.clock.advance("61 seconds")
    const [run] = (await engine.runs.list({ workflowId: id })).items
    expect(run).toMatchObject({ source: "schedule", workflowVersion: 1 })
    expect(await outputOf(run!.id)).toBe("one")
    await engine.clock.advance("5 seconds")
    const [after] = (await engine.runs.list({ workflowId: follower.id })).items
    expect(after).toMatchObject({ source: "run_end", workflowVersion: 1 })
    expect(await outputOf(after!.id)).toBe("after one")
  })

  it("gives way to the draft or the number that a schedule and a run's end name", async () => {
    await using at = await open()
    const { engine, id, outputOf, says } = at
    await engine.workflows.publish(id)
    await engine.workflows.update(id, drawn(says("three")))
    const takes = { everySeconds: 60, version: 1 } as const
    const trigger = await engine.triggers.create(id, { type: "schedule", ...takes })
    expect(trigger.version).toBe(1)
    const follower = await engine.workflows.create(says("published"))
    await engine.workflows.publish(follower.id)
    await engine.workflows.update(follower.id, drawn(says("drawn")))
    const after = { type: "run_end", watch: id, version: "draft" } as const
    await engine.triggers.create(follower.id, after)
    const last = async (workflowId: string) => {
      const [run] = (await engine.runs.list({ workflowId })).items
      return [run!.workflowVersion ?? "draft", await outputOf(run!.id)]
    }
    await engine.clock.advance("66 seconds")
    expect(await last(id)).toEqual([1, "one"])
    expect(await last(follower.id)).toEqual(["draft", "drawn"])
    await engine.triggers.update(id, trigger.id, { version: "draft" })
    await engine.clock.advance("60 seconds")
    expect(await last(id)).toEqual(["draft", "three"])
    await engine.triggers.update(id, trigger.id, { version: null })
    await engine.clock.advance("60 seconds")
    expect(await last(id)).toEqual([2, "two"])
  })

  it("that a trigger names has to be there, and a refusal changes nothing", async () => {
    await using at = await open()
    const { engine, id, says } = at
    const watch = (await engine.workflows.create(says("watched"))).id
    const { triggers } = engine
    const makers = [
      (version: number) => triggers.create(id, { type: "schedule", everySeconds: 60, version }),
      (version: number) => triggers.create(id, { type: "webhook", version }),
      (version: number) => triggers.create(id, { type: "run_end", watch, version }),
    ]
    const refusal = { message: "The workflow has no such version, or has forgotten it" }
    for (const make of makers) {
      await expect(make(7)).rejects.toMatchObject(refusal)
      const made = await make(1)
      await expect(triggers.update(id, made.id, { version: 7 })).rejects.toMatchObject(refusal)
      expect(await triggers.get(id, made.id)).toMatchObject({ version: 1 })
    }
    expect(await triggers.list(id)).toHaveLength(makers.length)
  })

  it("is what a child is of, called by a drawn id or a computed one", async () => {
    await using at = await open()
    const { engine, id, outputOf } = at
    const calling = (workflowId: string) =>
      engine
        .workflow("Calls")
        .node("call", "sub_workflow", { workflowId })
        .node("out", "response")
        .edge("call.output", "out.input")
    for (const named of [id, `{{ "${id}" }}`]) {
      const { id: workflowId } = await engine.workflows.create(calling(named))
      const run = await engine.runs.start({ workflowId, version: "draft" })
      expect(await outputOf(run.id)).toBe("one")
      const [child] = (await engine.runs.list({ parent: run.id })).items
      expect(child).toMatchObject({ workflowVersion: 1 })
    }
  })

  it("takes the place of the draft for starts until it is no more published", async () => {
    await using at = await open()
    const { engine, id, outputOf } = at
    const outputs = async () => [
      await outputOf((await engine.runs.start({ workflowId: id })).id),
      await outputOf((await engine.runs.start({ workflowId: id, version: "draft" })).id),
      await outputOf((await engine.runs.start({ workflowId: id, version: 1 })).id),
    ]
    expect(await outputs()).toEqual(["one", "two", "one"])
    await engine.workflows.publish(id)
    expect(await outputs()).toEqual(["two", "two", "one"])
    await engine.workflows.unpublish(id)
    expect((await engine.workflows.versions(id)).items.map(({ published }) => published)).toEqual([
      false,
      false,
    ])
    const run = await engine.runs.start({ workflowId: id })
    expect(await outputOf(run.id)).toBe("two")
    expect(await engine.runs.get(run.id)).not.toHaveProperty("workflowVersion")
  })

  it("is listed in pages, newest first, and each cursor belongs to its workflow", async () => {
    await using at = await open()
    const { engine, id, says } = at
    for (let n = 2; n <= 5; n++) {
      await engine.workflows.update(id, drawn(says(`text ${n}`)))
      await engine.workflows.publish(id, { note: `  Note ${n} ` })
    }
    const first = await engine.workflows.versions(id, { limit: 2 })
    expect(first.items.map(({ note, number }) => [number, note])).toEqual([
      [5, "Note 5"],
      [4, "Note 4"],
    ])
    const cursor = first.nextCursor!
    const second = await engine.workflows.versions(id, { cursor, limit: 2 })
    expect(second.items.map(({ number }) => number)).toEqual([3, 2])
    const numbers: Array<number> = []
    for await (const { number } of engine.workflows.versions(id, { limit: 2 })) numbers.push(number)
    expect(numbers).toEqual([5, 4, 3, 2, 1])
    expect((await engine.workflows.versions(id, { page: 2, pageSize: 3 })).items).toHaveLength(2)
    const { id: other } = await engine.workflows.duplicate(id)
    expect((await engine.workflows.versions(other)).items).toEqual([])
    await expect(engine.workflows.versions(other, { cursor })).rejects.toThrow(/cursor/)
  })
})
