/**
 * What the names in a node's expressions mean: which of them are nodes before it, and what is wrong
 * with the others.
 *
 * Guarantees: an expression that passes uses only values that are known whenever its node may
 * execute, so it gives the same live, after a crash and on another machine. Leaves out: finding
 * values.
 */
import type { Json } from "../../domain/Json.ts"
import { isJsonObject } from "../../domain/Json.ts"
import { expressionsPerGraph, problemsShown } from "../../domain/Limits.ts"
import { defaultInput, errorOutput } from "../../domain/NodeType.ts"
import { hintOf, suggestion } from "../../domain/Nearest.ts"
import { bracketed, quoted } from "../../domain/Quote.ts"
import type { Node } from "../../domain/Workflow.ts"
import { indexById } from "./Draft.ts"
import type { Literal, Needs, Place, PlacedExpression } from "./Literal.ts"
import type { Reference } from "./Names.ts"
import { globalNames, isBareName, roots } from "./Names.ts"
import { type Adjacency, groupBy } from "./Adjacency.ts"
import { problemOfSecret } from "./SecretNames.ts"
import type { Nesting } from "./Nesting.ts"
import type { NodePlan, Wiring } from "./NodePlan.ts"
import { type Problem, problemOfNode } from "./Problem.ts"

/** The nodes before a node: 1 at their indexes. */
type Before = (index: number) => Uint8Array

/**
 * Finds the nodes before a node, along edges. An edge with a negative end counts for nothing. The
 * loop around a node, and what is before that, is before the node. What is given is before all.
 */
const beforeOf = (
  nodeCount: number,
  { after: targets, before: sources, loopOf }: Nesting,
  given: ReadonlyArray<number>,
): Before => {
  let into: Adjacency | undefined
  return (index) => {
    into ??= groupBy(nodeCount, targets)
    const found = new Uint8Array(nodeCount)
    const open = [index]
    for (const each of given) if (each !== index) found[each] = 1
    const { edges, start } = into
    for (const node of open) {
      for (let at = start[node]!; at < start[node + 1]!; at++) {
        const source = sources[edges[at]!]!
        if (source < 0 || found[source] === 1) continue
        found[source] = 1
        open.push(source)
      }
      const loop = loopOf[node]!
      if (loop < 0 || found[loop] === 1) continue
      found[loop] = 1
      open.push(loop)
    }
    return found
  }
}

/** The graph around the nodes whose expressions are judged. */
export interface Surroundings {
  readonly ids: ReadonlyArray<string>
  readonly indexOf: ReadonlyMap<string, number>
  readonly before: Before
  /**
   * The outputs of a node that another one sees; `undefined` if they are not known. In its body, a
   * loop has others than outside of it.
   */
  readonly outputsOf: (id: string, viewer: string) => ReadonlySet<string> | undefined
  /** The loops around a node, from the innermost one. */
  readonly loopsAround: (id: string) => ReadonlyArray<NodePlan>
  /** The names of the run's values, where a request node declares them. */
  readonly fields: ReadonlySet<string> | undefined
  /** How many more problems come with advice, which takes a while to find. Mutable. */
  hints: number
}

/** The fields of the request node; `undefined` where a start may bring any values. */
const fieldsOf = (plans: ReadonlyArray<NodePlan | undefined>) => {
  const request = plans.find((plan) => plan?.type.role === "request" && !plan.settings.disabled)
  const fields = request?.settings.inputs["fields"]
  if (!Array.isArray(fields) || fields.length === 0) return undefined
  const names = (fields as ReadonlyArray<Json>).map((field) =>
    isJsonObject(field) ? field["name"] : undefined,
  )
  return new Set(names.filter((name) => typeof name === "string"))
}

const keysOfRun: ReadonlySet<string> = new Set(["id", "startedAt"])

export const surroundingsOf = (
  nodes: ReadonlyArray<Node>,
  plans: ReadonlyArray<NodePlan | undefined>,
  nesting: Nesting,
): Surroundings => {
  const indexOf = indexById(nodes)
  const outputs = new Map<string, ReadonlySet<string>>()
  const outputsOf = (id: string, viewer: string) => {
    const [index, from] = [indexOf.get(id)!, indexOf.get(viewer)!]
    const plan = plans[index]
    if (plan === undefined || plan.type.role === "given") return undefined
    if (plan.type.body !== undefined && nesting.isWithin(from, index)) {
      return new Set(plan.type.body.keys())
    }
    const known = outputs.get(id)
    if (known !== undefined) return known
    const found = new Set([...plan.ports.outputs.keys(), errorOutput])
    outputs.set(id, found)
    return found
  }
  const loopsAround = (id: string) => {
    const found: Array<NodePlan> = []
    const { loopOf } = nesting
    for (let at = loopOf[indexOf.get(id)!] ?? -1; at >= 0; at = loopOf[at]!) {
      const plan = plans[at]
      if (plan !== undefined) found.push(plan)
    }
    return found
  }
  const given = [...plans.keys()].filter((index) => plans[index]?.type.role === "given")
  return {
    ids: nodes.map(({ id }) => id),
    indexOf,
    before: beforeOf(nodes.length, nesting, given),
    outputsOf,
    loopsAround,
    fields: fieldsOf(plans),
    hints: problemsShown,
  }
}

/** How an expression names a node. */
export const spelled = (id: string): string =>
  isBareName(id) ? id : `nodes[${JSON.stringify(id)}]`

/** One node's expressions before their names are known. */
class Judge {
  readonly problems: Array<Problem> = []
  readonly #plan: NodePlan
  readonly #wiring: Wiring
  readonly #around: Surroundings
  #before: Uint8Array | undefined

  constructor(plan: NodePlan, wiring: Wiring, around: Surroundings) {
    this.#plan = plan
    this.#wiring = wiring
    this.#around = around
  }

  /** The literal with what its expressions need. */
  resolve(port: string, what: string, literal: Literal): Literal {
    const expressions = literal.expressions.map((expression) => {
      for (const reference of expression.references) {
        const isSecret = !reference.isNode && reference.name === "secrets" && !reference.isOwn
        const reason = isSecret
          ? problemOfSecret(expression, this.#plan.ports, port, what)
          : this.#reasonAgainst(reference, port, what)
        if (reason !== undefined) this.#refuse(port, what, expression.place, reference.at, reason)
        else this.#judgeKey(reference, port, what, expression.place)
      }
      const isScript = expression.meaning._tag === "Script"
      return isScript ? { ...expression, needs: this.#needsOf(expression) } : expression
    })
    for (const { column, place, reason } of literal.problems) {
      this.#refuse(port, what, place, column - 1, reason)
    }
    return { ...literal, expressions }
  }

  #refuse(port: string, what: string, place: Place, at: number, reason: string): void {
    const where = `${what} ${quoted(port)}${bracketed(place)}, column ${at + 1}`
    const { id } = this.#plan.node
    this.problems.push(problemOfNode(id, `${where}: ${reason}`, { port, column: at + 1 }))
  }

  #earlier(): Uint8Array {
    this.#before ??= this.#around.before(this.#around.indexOf.get(this.#plan.node.id)!)
    return this.#before
  }

  #isBefore(id: string): boolean {
    const index = this.#around.indexOf.get(id)
    return index !== undefined && this.#earlier()[index] === 1
  }

  #reasonAgainst(
    { isNode, isOwn, name }: Reference,
    port: string,
    what: string,
  ): string | undefined {
    if (!isNode && name === defaultInput) {
      if (port === defaultInput && what === "input") return "input cannot be used in itself"
      const isThere = this.#wiring.inputs.has(defaultInput) || defaultInput in this.#plan.overrides
      const draw = `draw an edge to the input ${quoted(defaultInput)} of ${this.#id}`
      return isThere || isOwn ? undefined : `no edge brings input; ${draw}`
    }
    if (!isNode && (roots.has(name) || globalNames.has(name))) return undefined
    if (isOwn || this.#isBefore(name)) return undefined
    return this.#around.indexOf.has(name) ? this.#notBefore(name) : this.#unknown(name, isNode)
  }

  /** Refuses a key that cannot be there. What every object has is left to JavaScript. */
  #judgeKey(reference: Reference, port: string, what: string, place: Place): void {
    const { isOwn, key } = reference
    const keys = key === undefined || isOwn ? undefined : this.#keysOf(reference)
    if (key === undefined || keys === undefined) return
    if (keys.known.has(key.name) || key.name in Object.prototype) return
    const hint = this.#around.hints-- > 0 ? `; ${hintOf(key.name, keys.known)}` : ""
    this.#refuse(port, what, place, key.at, `${keys.of} ${quoted(key.name)}${hint}`)
  }

  /** What can be read of a name, if that is known, and how a refusal begins. */
  #keysOf({ isNode, name }: Reference) {
    if (!isNode && name === "run") return { of: "run has no", known: keysOfRun }
    if (!isNode && name === "values") {
      const known = this.#around.fields
      return known === undefined ? undefined : { of: "the request has no field", known }
    }
    if (!isNode && (roots.has(name) || globalNames.has(name))) return undefined
    const known = this.#around.outputsOf(name, this.#plan.node.id)
    return known === undefined ? undefined : { of: `${quoted(name)} has no output`, known }
  }

  get #id(): string {
    return quoted(this.#plan.node.id)
  }

  #notBefore(name: string): string {
    const { id } = this.#plan.node
    if (name === id) return `${this.#id} cannot use its own output`
    const own = this.#around.indexOf.get(id)!
    const around = new Set(this.#around.loopsAround(id))
    const left = this.#around.loopsAround(name).find((loop) => !around.has(loop))
    if (left !== undefined) {
      const loop = quoted(left.node.id)
      return `${quoted(name)} is in the body of loop ${loop}; use an output of ${loop}`
    }
    const hasHint = this.#around.hints-- > 0
    if (hasHint && this.#around.before(this.#around.indexOf.get(name)!)[own] === 1) {
      return `${quoted(name)} comes after ${this.#id}, so its output is not known yet`
    }
    const draw = `draw an edge from ${quoted(name)} to ${this.#id}`
    return `no edges lead from ${quoted(name)} to ${this.#id}; ${draw}`
  }

  #unknown(name: string, isNode: boolean): string {
    const { ids } = this.#around
    const what = isNode ? "there is no node" : "unknown name"
    const loop = this.#around
      .loopsAround(this.#plan.node.id)
      .find(({ type }) => type.body?.has(name) === true)
    if (loop !== undefined) {
      return `${what} ${quoted(name)}; did you mean ${spelled(loop.node.id)}.${name}?`
    }
    const known = isNode ? ids : [...ids, ...roots, ...globalNames]
    const near = this.#around.hints-- > 0 ? suggestion(name, known) : undefined
    if (near === undefined) return `${what} ${quoted(name)}`
    const isId = !isNode && !roots.has(near) && !globalNames.has(near)
    const shown = isId && !isBareName(near) ? spelled(near) : quoted(near)
    return `${what} ${quoted(name)}; did you mean ${shown}?`
  }

  #needsOf({ references }: PlacedExpression): Needs {
    const isAny = references.some(({ isNode, name }) => !isNode && name === "nodes")
    const used = references.filter(({ name }) => this.#isBefore(name))
    const names = used.filter(({ isNode, name }) => !isNode && isBareName(name))
    const nodes = isAny
      ? this.#around.ids.filter((_, index) => this.#earlier()[index] === 1)
      : used.filter(({ isNode, name }) => isNode || isBareName(name)).map(({ name }) => name)
    return {
      nodes: [...new Set(nodes)],
      names: [...new Set(names.map(({ name }) => name))],
      roots: new Set(references.flatMap(({ isNode, name }) => (isNode ? [] : [name]))),
    }
  }
}

/** The plan with the meaning of its expressions; adds what is wrong with them to `problems`. */
export const withScope = (
  plan: NodePlan,
  wiring: Wiring,
  around: Surroundings,
  problems: Array<Problem>,
): NodePlan => {
  // Nothing reads the literals of an unused node, nor those of a disabled node.
  const { literals } = plan
  if (literals === undefined || plan.isUnused || plan.settings.disabled) return plan
  const judge = new Judge(plan, wiring, around)
  const resolved = (what: string, all: ReadonlyMap<string, Literal>) =>
    new Map(Array.from(all, ([port, each]) => [port, judge.resolve(port, what, each)]))
  const inputs = resolved("input", literals.inputs)
  const fallback = resolved("default of output", literals.fallback)
  problems.push(...judge.problems)
  return { ...plan, literals: { inputs, fallback } }
}

/** How many expressions a plan has. */
export const countOf = ({ literals }: NodePlan): number => {
  let count = 0
  for (const each of [literals?.inputs, literals?.fallback]) {
    for (const { expressions } of each?.values() ?? []) count += expressions.length
  }
  return count
}

/** The problem of a graph with too many expressions; `undefined` where there are not. */
export const problemOfCount = (count: number): Problem | undefined => {
  if (count <= expressionsPerGraph) return undefined
  const most = `at most ${expressionsPerGraph} are allowed`
  return { message: `The workflow has ${count} expressions; ${most}` }
}
