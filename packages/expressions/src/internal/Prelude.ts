/**
 * What is evaluated in a new context before anything else: it takes the clock, randomness and
 * everything that could keep a secret from one expression to the next away, freezes the rest, and
 * gives the function that calls expressions or code.
 *
 * It is text, because it runs in QuickJS. `run(make, scope, names)` calls the function that a text
 * was made into, and returns a text: `V` and JSON, `U` for no value, or `E` and a message.
 */
/** Globals that expressions do not have. */
const removed =
  "eval Promise Proxy Reflect WeakRef FinalizationRegistry SharedArrayBuffer InternalError " +
  "AggregateError"

/**
 * Evaluates to a function that gives `run`. It takes the most characters of an answer, and for code
 * what hears each line of its console, how many lines it may write, and the characters of one.
 */
export const prelude = `"use strict";
(() => {
  const { ownKeys, getPrototypeOf, construct } = Reflect
  const { freeze, getOwnPropertyDescriptor, hasOwn } = Object
  const { parse, stringify } = JSON
  const P = Promise
  const RealDate = Date
  const shapes = [Map, Set, WeakMap, WeakSet, RegExp, ArrayBuffer, DataView]

  const noClock = () => {
    throw new TypeError("there is no clock; use run.startedAt, or give the time")
  }
  function NewDate(...parts) {
    if (new.target === undefined || parts.length === 0) noClock()
    return construct(RealDate, parts, new.target)
  }
  Object.defineProperty(NewDate, "name", { value: "Date" })
  NewDate.prototype = RealDate.prototype
  NewDate.parse = RealDate.parse
  NewDate.UTC = RealDate.UTC
  RealDate.prototype.constructor = NewDate
  globalThis.Date = NewDate
  delete RealDate.now
  delete Math["random"]
  delete Object.prototype.__proto__
  const hidden = [
    function* () {}, async () => {}, async function* () {}, [][Symbol.iterator](),
    ""[Symbol.iterator](), new Map()[Symbol.iterator](), new Set()[Symbol.iterator](),
    "".matchAll(/./g), [].values().map((each) => each), Iterator.from({ next() {} }),
    Uint8Array, P, RealDate, Proxy, Reflect, WeakRef, FinalizationRegistry,
  ]
  for (const name of ${JSON.stringify(removed)}.split(" ")) delete globalThis[name]

  const seen = new Set()
  const open = [globalThis, ...hidden]
  for (const each of open) {
    const isObject = typeof each === "object" || typeof each === "function"
    if (!isObject || each === null || seen.has(each)) continue
    seen.add(each)
    open.push(getPrototypeOf(each))
    for (const key of ownKeys(each)) {
      const { get, set, value } = getOwnPropertyDescriptor(each, key)
      open.push(get, set, value)
    }
    if (!ArrayBuffer.isView(each)) freeze(each)
  }

  const cut = (text, most = 500) => (text.length > most ? text.slice(0, most - 1) + "…" : text)
  const shown = (error) => {
    try {
      if (typeof error === "string") return "it threw " + stringify(cut(error))
      if (typeof error !== "object" || error === null) return "it threw " + cut(String(error))
      const { message, name } = error
      if (typeof message !== "string" || message === "") return "it threw an object"
      return cut(typeof name === "string" && name !== "" ? name + ": " + message : message)
    } catch {
      return "it threw what cannot be shown"
    }
  }
  const refuse = (what) => {
    throw new TypeError(what + " is not JSON")
  }
  const judge = (key, value) => {
    switch (typeof value) {
      case "function":
        return refuse("a function")
      case "symbol":
        return refuse("a symbol")
      case "bigint":
        return refuse("a BigInt")
      case "number":
        return value - value === 0 ? value : refuse(String(value))
      case "object":
        if (value instanceof P) refuse("a promise")
        for (const each of shapes) if (value instanceof each) refuse("a " + each.name)
    }
    return value
  }
  const lineOf = (error) => {
    try {
      const [, line] = /\\bcode:(\\d+)/.exec(error.stack)
      return " (line " + (line - 1) + ")"
    } catch {
      return ""
    }
  }
  const textOf = (part) => {
    if (typeof part === "string") return part
    try {
      const json = stringify(part)
      if (json !== undefined) return json
    } catch {}
    try {
      return typeof part === "function" ? "a function" : String(part)
    } catch {
      return "what cannot be shown"
    }
  }
  const consoleOf = (hear, mostLines, longest) => {
    let left = mostLines
    const writer = (level) => (...parts) => {
      if (left === 0) return
      left -= 1
      let line = ""
      for (let at = 0; at < parts.length && line.length <= longest; at++) {
        line += (at === 0 ? "" : " ") + cut(textOf(parts[at]), longest)
      }
      hear(level, cut(line, longest))
    }
    const [info, warn, error, debug] = ["info", "warn", "error", "debug"].map(writer)
    return freeze({ log: info, info, warn, error, debug })
  }
  const answerOf = (value, most) => {
    const json = value === undefined ? undefined : stringify(value, judge)
    if (json === undefined) return "U"
    if (json.length <= most) return "V" + json
    return "Eit gives " + json.length + " characters of JSON; at most " + most + " are allowed"
  }
  return (most, hear, mostLines, longest) => (make, scopeText, namesText) => {
    try {
      const scope = parse(scopeText)
      if (hear !== undefined) {
        const console = consoleOf(hear, mostLines, longest)
        return answerOf(make(scope.inputs, scope.input, console), most)
      }
      const given = [scope.nodes, scope.input, scope.values, scope.run]
      for (const name of parse(namesText)) {
        given.push(hasOwn(scope.nodes, name) ? scope.nodes[name] : undefined)
      }
      return answerOf(make(...given), most)
    } catch (error) {
      return "E" + shown(error) + (hear === undefined ? "" : lineOf(error))
    }
  }
})()`
