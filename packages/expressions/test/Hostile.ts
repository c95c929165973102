/**
 * Expressions that want more than a value: escapes that were published for other sandboxes, loops
 * that native code runs, memory, regular expressions, and what is left for the next expression.
 */

/** Ways out of the sandbox: each gives nothing of its process, or fails. */
export const escapes: ReadonlyArray<string> = [
  "this.constructor.constructor('return process')()",
  "({}).constructor.constructor('return process.env')()",
  "[].constructor.constructor('return require(`fs`)')()",
  "(() => {}).constructor('return globalThis.process')().env",
  "Function('return process')().mainModule.require(`child_process`).execSync('id')",
  "(async () => {}).constructor('return process')()",
  "(function* () {}).constructor('return process')().next().value",
  "Object.getPrototypeOf(async function* () {}).constructor('yield process')().next()",
  "new Error().constructor.constructor('return process')()",
  "(() => { try { null.x } catch (e) { return e.constructor.constructor('return process')() } })()",
  "(() => { const e = new Error(); e.name = Symbol(); throw e })()",
  "(() => { Error.prepareStackTrace = (e, s) => s; return new Error().stack[0].getThis() })()",
  "import('node:fs')",
  "import.meta",
  "require(`fs`).readFileSync('/etc/passwd')",
  "process.binding('fs')",
  "globalThis.constructor.constructor('return this')().process.pid",
  "eval('process')",
  "(0, eval)('globalThis.process.exit()')",
  "setInterval(() => {}, 0)",
  "fetch('http://169.254.169.254/')",
  "new XMLHttpRequest()",
  "new Worker('x')",
  "new SharedArrayBuffer(8)",
  "Atomics.wait(new Int32Array(8), 0, 0)",
  "new WebAssembly.Memory({ initial: 1 })",
  "std.loadFile('/etc/passwd')",
  "os.exec(['id'])",
  "bjson.read(new ArrayBuffer(8), 0, 8)",
  "print('x') || console.log('x')",
  "new Proxy({}, { get: () => process })",
  "Reflect.construct(Function, ['return process'])()",
  "new WeakRef({}).deref()",
  "Object.getOwnPropertyDescriptor(globalThis, 'process').value",
  "Symbol.for('nodejs.util.inspect.custom').constructor.constructor('return process')()",
  "JSON.parse('{}', function () { return this.constructor.constructor('return process')() })",
  "'a'.replace(/a/, (m) => m.constructor.constructor('return process')())",
  "[1].map.call([1], (x) => x.constructor.constructor('return process')())",
  "((f) => f.caller)(function g() {})",
  "(function () { return arguments.callee.caller })()",
]

/** What costs time: each is given up. */
export const loops: ReadonlyArray<string> = [
  "(() => { for (;;); })()",
  "(() => { while (true) [].push(1) })()",
  "[].indexOf.call({ length: 2 ** 53 - 1 }, 1)",
  "new Array(2 ** 30).join('')",
  "/(a+)+$/.test('a'.repeat(50) + 'b')",
  "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
  "({ toJSON() { for (;;); } })",
  "({ get x() { for (;;); } })",
  "(() => { throw { get message() { for (;;); } } })()",
  "[...{ *[Symbol.iterator]() { for (;;) yield 1 } }]",
  "(10n ** 1000000n).toString().length",
]

/** What costs memory or depth, or is no JSON: each fails with a sentence. */
export const refused: ReadonlyArray<readonly [text: string, sentence: RegExp]> = [
  ["'x'.repeat(2 ** 30)", /invalid string length|memory/],
  ["Array.from({ length: 1e7 }, (_, i) => ({ i }))", /memory|longer than/],
  ["(() => { let x = 'x'; for (;;) x += x })()", /memory|too long|longer than/],
  ["new Uint8Array(2 ** 30)", /memory|invalid array/],
  ["(function f() { return f() })()", /calls itself too often/],
  ["JSON.parse('['.repeat(1e5))", /often|deeply|unexpected|stack/i],
  [
    "((d) => { let x = 1; while (d--) x = [x]; return x })(1e5)",
    /often|deeply|stack|circular|longer/i,
  ],
  ["'x'.repeat(2 ** 20)", /characters of JSON; at most 1048576/],
  ["(() => { const a = {}; a.a = a; return a })()", /circular/],
  ["() => 1", /a function is not JSON/],
  ["({ a: [() => 1] })", /a function is not JSON/],
  ["Symbol('x')", /a symbol is not JSON/],
  ["[1n]", /a BigInt is not JSON/],
  ["0 / 0", /NaN is not JSON/],
  ["[1 / 0]", /Infinity is not JSON/],
  ["(async () => 1)()", /a promise is not JSON/],
  ["({ then: (f) => f(1) })", /a function is not JSON/],
  ["new Map([[1, 2]])", /a Map is not JSON/],
  ["new Date()", /there is no clock/],
  ["Date()", /there is no clock/],
  ["Date.now()", /not a function/],
  ["Math.random()", /not a function/],
  ["(() => { throw 'a text' })()", /it threw "a text"/],
  ["(() => { throw null })()", /it threw null/],
  ["(() => { throw Symbol('s') })()", /it threw Symbol\(s\)/],
  ["(() => { throw { get message() { throw 1 } } })()", /it threw what cannot be shown/],
]

/** What wants to be seen by the next expression. Those that do not fail leave nothing. */
export const polluting: ReadonlyArray<string> = [
  "globalThis.leak = 1",
  "Function('leak = 1')() || 1",
  "Object.prototype.polluted = 1",
  "({}).__proto__.polluted = 1",
  "({}).constructor.prototype.polluted = 1",
  "Object.defineProperty(Array.prototype, 'polluted', { value: 1 })",
  "Object.setPrototypeOf(Array.prototype, { polluted: 1 })",
  "Array.prototype.map = () => ['changed']",
  "Object.defineProperty(JSON, 'stringify', { value: () => '1' })",
  "JSON.parse = () => ({ values: 'changed' })",
  "Math.max = () => 99",
  "Object.assign(values, { a: 'changed' }).a && 1",
  "nodes.fetch.body.items.push('changed')",
  "Object.getPrototypeOf([].values()).next = () => ({ done: true })",
  "(function* () {}).constructor.prototype.polluted = 1",
  "(async () => {}).constructor.prototype.polluted = 1",
  "RegExp.prototype.exec = () => null",
  "String.prototype.polluted = 1",
  "(() => { class A { static x = 1 }; globalThis.A = A })()",
  "new Function('return this')().Object.polluted = 1",
  "(async () => { await 0; globalThis.leak = 1 })() && 1",
  "Function.prototype.call = () => 1",
]

/** Sees everything that those would have changed, and the process if it were there. */
export const canary =
  "[typeof process, typeof require, typeof leak, typeof A, typeof globalThis.leak, {}.polluted, " +
  "[].polluted, ''.polluted, (() => {}).polluted, Object.polluted, Math.max(1, 2), " +
  "[1, 2].map((x) => x * 2), JSON.parse('[1]'), /a/.exec('a')[0], [...[1, 2]], values.a, " +
  "fetch.body.items, typeof (async () => {}).constructor.prototype.polluted]"

export const canaryValue: unknown = JSON.parse(
  '["undefined", "undefined", "undefined", "undefined", "undefined", null, null, null, null, ' +
    'null, 2, [2, 4], [1], "a", [1, 2], "b", [3, 1, 2], "undefined"]',
)

/** A small source of numbers that are the same for a seed. */
const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor((state / 4_294_967_296) * below)
  }
}

const words = (
  "fetch values run nodes input this globalThis Object Array Function String Symbol JSON Math " +
  "Date constructor prototype __proto__ call apply bind map reduce repeat join toString toJSON " +
  "valueOf length freeze defineProperty getPrototypeOf iterator process require eval import new " +
  "typeof void delete await yield async function class ( ) [ ] { } . , ; : => ... ?. ?? = == === " +
  "+ - * / % ** ! 1 0 2**31 1e9 10n 'x' `y` /z/ \"w\" null undefined true for while (;;) try " +
  "catch throw return"
).split(" ")

/** Texts of words that may be anything. */
export const soup = (seed: number): ReadonlyArray<string> => {
  const random = randomOf(seed)
  return Array.from({ length: 30 }, () =>
    Array.from({ length: 1 + random(14) }, () => words[random(words.length)]).join(
      random(2) === 0 ? "" : " ",
    ),
  )
}
