/**
 * JavaScript in QuickJS: contexts that cannot reach anything outside of them.
 *
 * Guarantees: what an expression does is not seen by the next one; its globals are frozen, and what
 * it is given is made anew for each call. Time and memory are bounded, as far as QuickJS asks: a
 * native loop does not, so `Pool` ends threads that are late. Leaves out: threads.
 */
import * as loaded from "@jitl/quickjs-wasmfile-release-sync"
import type {
  QuickJSContext,
  QuickJSHandle,
  QuickJSRuntime,
  QuickJSSyncVariant,
  QuickJSWASMModule,
} from "quickjs-emscripten-core"
import { newQuickJSWASMModuleFromVariant } from "quickjs-emscripten-core"
import { prelude } from "./Prelude.ts"
import type { ConsoleLine, SandboxAnswer, SandboxBounds, SandboxCall } from "./SandboxWire.ts"
import { inWords } from "./SandboxWire.ts"

/** Bytes of the stack of a runtime. */
const stackBytes = 262_144

/** Functions that a context keeps; one with more is made anew. */
const keptFunctions = 1_000

/** Processor time of this thread, where Node tells it, else of the process. */
const cpuMillis = (): number => {
  const has = "threadCpuUsage" in process
  const { system, user } = has ? process.threadCpuUsage() : process.cpuUsage()
  return (system + user) / 1_000
}

/** A context with what it keeps. */
interface Kept {
  readonly runtime: QuickJSRuntime
  readonly context: QuickJSContext
  readonly run: QuickJSHandle
  readonly functions: Map<string, QuickJSHandle>
  isBroken: boolean
}

/** Why a text is no expression, or no code. */
interface Fault {
  readonly message: string
  readonly at: number | undefined
}

/** Two functions of a text, which begins in the second line. What leaves one spoils the other. */
const functionsOf = ({ isBody, names, text }: SandboxCall): readonly [string, string] => {
  if (isBody === true) {
    const head = "(inputs,input,console)"
    return [
      `"use strict";(function${head}{\n${text}\n})`,
      `"use strict";(class{static code${head}{\n${text}\n}})`,
    ]
  }
  const head = `"use strict";(${["nodes", "input", "values", "run", ...names].join(",")})=>`
  return [`${head}(\n${text}\n)`, `${head}[\n${text}\n]`]
}

/** The name of a text in errors. */
const fileOf = ({ isBody }: SandboxCall): string => (isBody === true ? "code" : "expression")

const levels: ReadonlySet<string> = new Set(["debug", "info", "warn", "error"])

const isLevel = (text: string): text is ConsoleLine["level"] => levels.has(text)

/** Where in a text a line and a column are. */
const placeOf = (text: string, line: number, column: number): number => {
  const before = text.split("\n").slice(0, line - 1)
  return Math.min(text.length, before.join("\n").length + (line > 1 ? 1 : 0) + column - 1)
}

/** What QuickJS says of a text, without what stands around the text here. */
const readable = (message: string, call: SandboxCall, at: number | undefined): string => {
  const { text } = call
  if (at !== undefined && at >= text.length) return `the ${fileOf(call)} ends too early`
  const isExpecting = at !== undefined && message.startsWith("expecting")
  return isExpecting ? `unexpected ${JSON.stringify(text[at])}` : `no ${fileOf(call)}: ${message}`
}

/** A function of a context that adds lines. It is all of this thread that can be called there. */
const hearing = (context: QuickJSContext, logs: Array<ConsoleLine>): QuickJSHandle =>
  context.newFunction("hear", (level, message) => {
    const name = context.getString(level)
    if (isLevel(name)) logs.push({ level: name, message: context.getString(message) })
  })

/** The contexts of one thread. Mutable. */
export class Sandbox {
  readonly #module: QuickJSWASMModule
  readonly #bounds: SandboxBounds
  readonly #kept = new Map<string, Kept>()
  #deadline = Number.POSITIVE_INFINITY
  #isLate = false

  private constructor(module: QuickJSWASMModule, bounds: SandboxBounds) {
    this.#module = module
    this.#bounds = bounds
  }

  static async load(bounds: SandboxBounds): Promise<Sandbox> {
    const { default: variant } = loaded as unknown as { readonly default: QuickJSSyncVariant }
    const sandbox = new Sandbox(await newQuickJSWASMModuleFromVariant(variant), bounds)
    // The first context takes longest.
    sandbox.#drop("", sandbox.#contextOf(""))
    return sandbox
  }

  /**
   * Computes or compiles an expression. Throws only where QuickJS itself has failed. Calls `begin`
   * when there is a context: making one takes a while, and is nothing that an expression does.
   */
  call(call: SandboxCall, begin: () => void): SandboxAnswer {
    this.#isLate = false
    const logs: Array<ConsoleLine> = []
    // Code has a context of its own, so that nothing is left for whoever comes next.
    const isCode = call.isBody === true && call.scope !== undefined
    const kept = isCode ? this.#make(logs) : this.#contextOf(call.key)
    begin()
    const begun = cpuMillis()
    this.#deadline = begun + this.#bounds.millis
    const { answer, at } = this.#perform(kept, call)
    this.#deadline = Number.POSITIVE_INFINITY
    const millis = cpuMillis() - begun
    // A context that ran out of something, or has work left over, is not used again.
    const isOver = isCode || kept.isBroken || this.#isLate || kept.runtime.hasPendingJob()
    if (isOver) this.#drop(call.key, kept)
    return { id: call.id, answer, at, millis, isLate: this.#isLate, ...(isCode ? { logs } : {}) }
  }

  #perform(kept: Kept, call: SandboxCall): Pick<SandboxAnswer, "answer" | "at"> {
    const made = this.#functionOf(kept, call)
    if ("message" in made) return { answer: `E${made.message}`, at: made.at }
    if (call.scope === undefined) return { answer: "U" }
    const { context, run } = kept
    const scope = context.newString(call.scope)
    const names = context.newString(JSON.stringify(call.names))
    const result = context.callFunction(run, context.undefined, made, scope, names)
    scope.dispose()
    names.dispose()
    if (result.error !== undefined) {
      result.error.dispose()
      kept.isBroken = true
      return { answer: `E${this.#tooMuch()}` }
    }
    const answer = context.getString(result.value)
    result.value.dispose()
    // After want of memory, nothing is sure of a context.
    kept.isBroken = answer.startsWith("EInternalError")
    // An expression may have caught that it was late, and gone on.
    if (this.#isLate) return { answer: `E${this.#tooMuch()}` }
    return { answer: kept.isBroken ? `E${this.#sentenceOf(answer.slice(1))}` : answer }
  }

  #tooMuch(): string {
    const { megabytes, millis } = this.#bounds
    return this.#isLate
      ? `it takes longer than ${inWords(millis)}`
      : `it needs more than ${megabytes} megabytes of memory`
  }

  #sentenceOf(error: string): string {
    if (error.includes("out of memory")) return this.#tooMuch()
    return error.includes("stack overflow") ? "it calls itself too often" : error
  }

  #functionOf(kept: Kept, call: SandboxCall): QuickJSHandle | Fault {
    const name = `${fileOf(call)} ${call.names.join(",")}\n${call.text}`
    const known = kept.functions.get(name)
    if (known !== undefined) return known
    // What closes one bracket does not close the other, so the text is one expression, or one body.
    const [first, second] = functionsOf(call)
    const fault = this.#faultOf(kept, call, first) ?? this.#faultOf(kept, call, second)
    if (fault !== undefined) return fault
    const result = kept.context.evalCode(first, fileOf(call))
    if (result.error !== undefined) return this.#read(kept, call, result.error)
    if (kept.functions.size >= keptFunctions) kept.isBroken = true
    kept.functions.set(name, result.value)
    return result.value
  }

  #faultOf(kept: Kept, call: SandboxCall, code: string): Fault | undefined {
    const result = kept.context.evalCode(code, fileOf(call), { compileOnly: true })
    if (result.error !== undefined) return this.#read(kept, call, result.error)
    result.value.dispose()
    return undefined
  }

  /** Reads an error that QuickJS itself has thrown: no code of an expression has run. */
  #read({ context }: Kept, call: SandboxCall, error: QuickJSHandle): Fault {
    const part = (name: string): string => {
      const handle = context.getProp(error, name)
      const found = context.typeof(handle) === "string" ? context.getString(handle) : ""
      handle.dispose()
      return found
    }
    const [, line, column] = /(?:code|expression):(\d+):(\d+)/.exec(part("stack")) ?? []
    const message = part("message") || "it cannot be read"
    error.dispose()
    const at = line === undefined ? undefined : placeOf(call.text, Number(line) - 1, Number(column))
    return { message: this.#isLate ? this.#tooMuch() : readable(message, call, at), at }
  }

  #contextOf(key: string): Kept {
    const known = this.#kept.get(key)
    if (known !== undefined) {
      this.#kept.delete(key)
      this.#kept.set(key, known)
      return known
    }
    if (this.#kept.size >= this.#bounds.contexts) {
      const [oldest, kept] = this.#kept.entries().next().value!
      this.#drop(oldest, kept)
    }
    const made = this.#make()
    this.#kept.set(key, made)
    return made
  }

  /** A new context; one for code writes what its console hears to `logs`. */
  #make(logs?: Array<ConsoleLine>): Kept {
    const runtime = this.#module.newRuntime()
    runtime.setMemoryLimit(this.#bounds.megabytes * 1_048_576)
    runtime.setMaxStackSize(stackBytes)
    runtime.setInterruptHandler(() => {
      this.#isLate ||= cpuMillis() > this.#deadline
      return this.#isLate
    })
    const context = runtime.newContext()
    const make = context.unwrapResult(context.evalCode(prelude, "prelude"))
    const { logLength, logLines, mostCharacters } = this.#bounds
    const given = [
      context.newNumber(mostCharacters),
      logs === undefined ? context.undefined : hearing(context, logs),
      context.newNumber(logLines),
      context.newNumber(logLength),
    ]
    const run = context.unwrapResult(context.callFunction(make, context.undefined, ...given))
    for (const each of [make, ...given]) each.dispose()
    return { runtime, context, run, functions: new Map(), isBroken: false }
  }

  #drop(key: string, { context, functions, run, runtime }: Kept): void {
    this.#kept.delete(key)
    for (const each of functions.values()) each.dispose()
    run.dispose()
    context.dispose()
    runtime.dispose()
  }
}
