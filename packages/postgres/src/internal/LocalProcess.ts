/**
 * Processes of this machine: which one a number means, and whether it is alive.
 *
 * Guarantees: no live process is taken for a dead one. A process is identified by its number and,
 * if `/proc` shows it, by its start time, so a process with a reused number is a different process.
 * Leaves out: processes of other machines and of containers that do not see each other's processes;
 * nobody can tell whether they are alive.
 */
import { readFileSync, readlinkSync } from "node:fs"
import * as process from "node:process"

/** A process of this machine. */
export interface LocalProcess {
  readonly pid: number
  /** When the process started, as the operating system writes it; `null` if unknown. */
  readonly startedAt: string | null
}

/** States of a process that has ended but whose parent has not yet waited for it. */
const ended = new Set(["Z", "X"])

/**
 * When a live process started: the 22nd field of its status. The second field may contain any text,
 * brackets included. `null`: it has ended. `undefined`: nobody says.
 */
const startOf = (pid: number): string | null | undefined => {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8")
    const [state = "", ...fields] = status.slice(status.lastIndexOf(")") + 2).split(" ")
    return ended.has(state) ? null : fields[18]
  } catch {
    return undefined
  }
}

const isListed = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists, but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** Whether a process is alive, as far as anybody can tell; if nobody can, it is. */
export const isRunning = ({ pid, startedAt }: LocalProcess): boolean => {
  if (!isListed(pid)) return false
  const found = startOf(pid)
  return found === undefined || (found !== null && (startedAt ?? found) === found)
}

/** This process. */
export const own: LocalProcess = { pid: process.pid, startedAt: startOf(process.pid) ?? null }

/** What the processes that see each other have in common: the start of the machine, and a space. */
const placeOf = (): string | undefined => {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
    const space = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0]
    return /^[\da-f-]+$/.test(boot) && space !== undefined ? `${boot}.${space}` : undefined
  } catch {
    return undefined
  }
}

const place = placeOf()

/**
 * The name of this process among all processes of all machines: digits, letters, dots and hyphens.
 * `undefined` where the operating system does not say enough.
 */
export const ownName: string | undefined =
  place === undefined || own.startedAt === null ? undefined : `${place}.${own.pid}.${own.startedAt}`

/** True if a name is that of a process of this machine that has ended. */
export const hasEnded = (name: string): boolean => {
  const [, where, pid, startedAt] = /^(.+)\.(\d+)\.(\d+)$/.exec(name) ?? []
  if (where === undefined || where !== place) return false
  return !isRunning({ pid: Number(pid), startedAt: startedAt! })
}
