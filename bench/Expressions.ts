// What expressions cost: plain paths, JavaScript, code, and a start of a workflow that has many.
// Also what those of one account cost another account.
import type { Json } from "@millrace/core/domain/Json"
import { createEngine } from "millrace"
import { measureOther } from "./OtherTenant.ts"

const order = { id: 7, lines: Array.from({ length: 20 }, (_, n) => ({ quantity: n, price: 1.5 })) }

/** A workflow of an order and a node behind it with this value. */
const drawn = (value: Json, isJoined: boolean) => ({
  name: "Bench",
  nodes: [
    { id: "order", type: "constant", position: { x: 0, y: 0 }, data: { inputs: { value: order } } },
    { id: "use", type: "constant", position: { x: 1, y: 0 }, data: { inputs: { value } } },
  ],
  edges: isJoined ? [{ id: "e1", source: "order", target: "use" }] : [],
})

/** A workflow of so many nodes that execute the same in code. */
const drawnCode = (count: number) => {
  const total = "order.lines.reduce((sum, each) => sum + each.quantity * each.price, 0)"
  const code = `const { order } = inputs\nreturn ${total}`
  return {
    name: "Bench",
    nodes: Array.from({ length: count }, (_, n) => ({
      id: `code_${n}`,
      type: "code",
      position: { x: 0, y: n },
      data: { inputs: { code, inputs: { order } } },
    })),
    edges: [],
  }
}

const times = (count: number, text: string): ReadonlyArray<string> =>
  Array.from({ length: count }, () => text)

const texts = {
  literal: "no expression",
  path: '{{ nodes["order"].output.lines[3].price }}',
  expression: "{{ order.output.lines.reduce((sum, each) => sum + each.quantity * each.price, 0) }}",
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!

const millisOf = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** Expressions of each kind per second, and what 1,000 of them add to a start. */
export const measure = async (rounds: number) => {
  await using engine = await createEngine()
  const { runs, workflows } = engine
  const counts = { literal: 1_000, path: 1_000, expression: 500 }
  const samples = new Map<string, Array<number>>()
  const note = (name: string, value: number) =>
    samples.set(name, [...(samples.get(name) ?? []), value])
  for (let round = -1; round < rounds; round++) {
    for (const [kind, text] of Object.entries(texts)) {
      const value = times(counts[kind as keyof typeof counts], text)
      const { id: workflowId } = await workflows.create(drawn(value, kind !== "literal"))
      // The first start reads, compiles and checks; the second one finds all of that.
      const ids: Array<string> = []
      const first = await millisOf(async () => {
        ids.push((await runs.start({ workflowId })).id)
      })
      await runs.wait(ids[0]!)
      const whole = await millisOf(async () => {
        const { id } = await runs.start({ workflowId })
        const { error, status } = await runs.wait(id)
        if (status !== "COMPLETED") throw new Error(String(error))
      })
      if (round < 0) continue
      note(`${kind} first start`, first)
      note(`${kind} run`, whole)
    }
  }
  const codes = 200
  const { id: workflowId } = await workflows.create(drawnCode(codes))
  for (let round = -1; round < rounds; round++) {
    const whole = await millisOf(async () => {
      const { id } = await runs.start({ workflowId })
      const { error, status } = await runs.wait(id)
      if (status !== "COMPLETED") throw new Error(String(error))
    })
    if (round >= 0) note("code run", whole)
  }
  const of = (name: string) => median(samples.get(name)!)
  const rows = (["path", "expression"] as const).map((kind) => ({
    kind,
    "per second": Math.round((counts[kind] * 1_000) / (of(`${kind} run`) - of("literal run"))),
    "first start adds, ms per 1,000": Number(
      (((of(`${kind} first start`) - of("literal first start")) * 1_000) / counts[kind]).toFixed(1),
    ),
  }))
  // A run of nodes, so this is what an execution costs with its node run.
  const perSecond = Math.round((codes * 1_000) / of("code run"))
  const code = { kind: "code", "per second": perSecond }
  console.table([...rows, code])
  const others = await measureOther()
  console.table(others)
  return { rows: [...rows, code], others, samples: Object.fromEntries(samples) }
}
