/**
 * Has a process believe that it is another time: loaded before everything else, it shifts `Date`
 * and the origin of the performance clock by `KILL_SHIFT_MILLIS`. Timers and the monotonic clock go
 * on as ever, as on a machine whose clock was set wrong.
 */
const millis = Number(process.env["KILL_SHIFT_MILLIS"] ?? 0)

const Real = Date
const now = (): number => Real.now() + millis

globalThis.Date = new Proxy(Real, {
  apply: () => new Real(now()).toString(),
  construct: (target, given: ReadonlyArray<unknown>, made) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, made) as Date,
  get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
})

Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + millis })
