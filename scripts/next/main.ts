/**
 * `npm run examples:next` builds and starts the Next application in `examples/next`, starts a run
 * over HTTP, reads its events as they happen, runs the workflow in the editor of its page, and
 * ends. Needs `npm run build`.
 *
 * Next is large, so it is no part of an install of the repository: the first time it is installed
 * beside the example, with a TypeScript that it knows. The packages of the engine are packed and
 * installed as npm would, because Next bundles what is linked.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../../packages/core/test/Sources.ts"
import { launchChromium } from "../../packages/react/test/browser/Chromium.ts"
import { pack } from "../packages/Packed.ts"

const example = join(root, "examples/next")
const next = join(example, "node_modules/next/dist/bin/next")
const temporary = mkdtempSync(join(tmpdir(), "millrace-next-"))
const env = {
  ...process.env,
  NEXT_TELEMETRY_DISABLED: "1",
  FLOWS_FILE: join(temporary, "flows.db"),
}

const npm = (...args: ReadonlyArray<string>): void => {
  const quiet = ["--no-workspaces", "--no-audit", "--no-fund", "--loglevel=error"]
  execFileSync("npm", [...args, ...quiet], { cwd: example, stdio: "inherit" })
}

/** Names of a package and of what it needs, as far as it is ours. */
const withOurs = (name: string): ReadonlyArray<string> => {
  const path = join(root, "node_modules", name, "package.json")
  const { dependencies = {} } = JSON.parse(readFileSync(path, "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>
  }
  const ours = Object.keys(dependencies).filter((each) => each.startsWith("@millrace/"))
  return [name, ...ours.flatMap(withOurs)]
}

const install = (): void => {
  if (!existsSync(next)) npm("install", "--no-package-lock")
  const wanted = new Set(["millrace", "@millrace/sqlite", "@millrace/react"].flatMap(withOurs))
  const tarballs = pack(temporary)
    .filter(({ manifest }) => wanted.has(manifest.name))
    .map(({ tarball }) => tarball)
  npm("install", "--no-save", "--no-package-lock", ...tarballs)
}

/** Starts the application on a free port; its address. */
const start = async (server: ChildProcess): Promise<string> => {
  let printed = ""
  for await (const text of server.stdout!.setEncoding("utf8")) {
    printed += text as string
    const [, origin] = /Local:\s+(http:\S+)[^]*Ready/.exec(printed) ?? []
    if (origin !== undefined) return origin
  }
  throw new Error(`Next did not start: ${printed}`)
}

const headers = { cookie: "session=session-of-ada", "content-type": "application/json" }

const post = async (address: string, body: unknown): Promise<Record<string, unknown>> => {
  const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) })
  console.log("POST", response.status)
  return (await response.json()) as Record<string, unknown>
}

/** A drawing whose run waits for a second, so that its events come in two parts at least. */
const drawing = {
  name: "Plants",
  nodes: [
    {
      id: "pause",
      type: "delay",
      position: { x: 0, y: 0 },
      data: { inputs: { for: "1 second", input: "Water the plants" } },
    },
    { id: "out", type: "response", position: { x: 300, y: 0 } },
  ],
  edges: [{ id: "e1", source: "pause", target: "out" }],
}

/** Starts a run and reads its events; their names, by the pieces in which they came. */
const eventsOfRun = async (api: string): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const { id: workflowId } = await post(`${api}/workflows`, drawing)
  const { runId } = await post(`${api}/runs`, { workflowId })
  const response = await fetch(`${api}/runs/${String(runId)}/events`, { headers })
  const pieces: Array<ReadonlyArray<string>> = []
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    pieces.push(Array.from(piece.matchAll(/^event: (.*)$/gm), ([, event]) => event!))
  }
  return pieces
}

/** Signs in, runs the workflow in the editor, and watches the run; what the page complains of. */
const runInEditor = async (origin: string): Promise<ReadonlyArray<string>> => {
  const browser = await launchChromium()
  const problems: Array<string> = []
  try {
    const page = await browser.newPage()
    page.on("pageerror", ({ message }) => problems.push(message))
    page.on("console", (line) => line.type() === "error" && problems.push(line.text()))
    await page.goto(origin)
    await page.getByRole("button", { name: "Sign in as Ada" }).click()
    await page.locator('.react-flow__node[data-id="pause"]').waitFor()
    await page.getByRole("button", { name: "Run", exact: true }).click()
    await page.locator('article[data-status="COMPLETED"]').waitFor()
    console.log("the run of the editor completed")
  } finally {
    await browser.close()
  }
  return problems
}

const check = (is: boolean, problem: string): void => {
  if (is) return
  console.log(problem)
  process.exitCode = 1
}

if (!existsSync(join(root, "packages/millrace/dist/index.js"))) {
  throw new Error("The packages are not built: npm run build")
}
let server: ChildProcess | undefined
try {
  install()
  execFileSync(process.execPath, [next, "build"], { cwd: example, env, stdio: "inherit" })
  server = spawn(process.execPath, [next, "start", "--port", "0"], {
    cwd: example,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  })
  const origin = await start(server)
  const api = `${origin}/automation/api/v1`
  const pieces = await eventsOfRun(api)
  const all = pieces.flat()
  console.log(all.join(" "))
  check(all.at(-1) === "run.completed", "the run did not complete")
  check(!pieces[0]!.includes("run.completed"), "the events came at once, and not as they happened")
  const { status } = await fetch(`${api}/runs`)
  console.log("without a session:", status)
  check(status === 401, "a request without a session was answered")
  const problems = await runInEditor(origin)
  check(problems.length === 0, `the page complains: ${problems.join("; ")}`)
} finally {
  if (server !== undefined) {
    server.kill()
    await once(server, "exit")
  }
  rmSync(temporary, { recursive: true, force: true })
}
