// What the processors of this machine do: for a process and all that it has started, and for
// everybody else. Read from /proc; where there is none, nobody else does anything.
import { readdirSync, readFileSync } from "node:fs"

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // The process has ended, or there is no /proc.
    return ""
  }
}

const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      textOf(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

/** Hundredths of a second of a process, and of those of its children that have ended. */
export const ticksOf = (pid: number): number => {
  const fields = textOf(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? []
  return [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field] ?? 0), 0)
}

/** Hundredths of a second of a process and of everything below it, also of what has ended. */
export const ticksBelow = (root: number): number =>
  childrenOf(root).reduce((sum, child) => sum + ticksBelow(child), ticksOf(root))

/** Ticks of all processors that were not idle; what the host took away counts, too. */
const busyTicks = (): number => {
  const fields = textOf("/proc/stat").split("\n")[0]!.trim().split(/\s+/).slice(1).map(Number)
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0, stolen = 0] = fields
  return user + nice + system + interrupts + soft + stolen
}

/** Begins to watch; the answer is how many cores others used since then, on average. */
export const watchOthers = (): (() => number) => {
  const read = () => ({ at: performance.now(), others: busyTicks() - ticksBelow(process.pid) })
  const before = read()
  return () => {
    const after = read()
    return Math.max(0, after.others - before.others) / ((after.at - before.at) / 10)
  }
}
