/**
 * The house rules that a linter cannot hold: which package may know which, which folder of core may
 * know which, who owns the clock, randomness, the environment and computed imports, and how a
 * source file looks.
 *
 * Reads every source file as text, so that it needs no compiler. Each offence is named by file and
 * line. Leaves out: the length of functions, types and promises; the linter holds those.
 */
import { posix } from "node:path"
import { describe, expect, it } from "vitest"
import type { Row } from "./Arrows.ts"
import { arrows } from "./Arrows.ts"
import type { Import } from "./Sources.ts"
import {
  everything,
  exists,
  importsOf,
  libraryOf,
  manifestOf,
  nameOf,
  offences,
  packageNames,
  packageOf,
  place,
  readJson,
  sourceOf,
  sources,
  targetOf,
  tests,
  workspaceOf,
} from "./Sources.ts"

/** What is reached by other ways than imports: an export of its own, a command, a bench. */
const entries = [
  ...["Client", "Testing"].map((name) => `packages/millrace/src/${name}.ts`),
  "packages/server/src/main.ts",
  "packages/dashboard/src/App.tsx",
  "packages/nodes/src/Constant.ts",
  "packages/nodes/src/Delay.ts",
]

/** The folders of core, each allowed to know the ones before it. */
const folders = ["domain", "graph", "ports", "engine"]

const oneOf = (...patterns: ReadonlyArray<RegExp>): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join("|"), "g")

/**
 * What only its owner may touch. An owner is the beginning of a path. A service that stands for the
 * thing, such as Clock or SecureRandom, may be used by all; what binds it to the real one may not.
 */
const owned: ReadonlyArray<{
  readonly what: string
  readonly pattern: RegExp
  readonly owners: ReadonlyArray<string>
}> = [
  {
    what: "the clock",
    pattern: oneOf(
      /\bDate\.now\b/,
      /\bnew Date\(\s*\)/,
      /\bnew Date\b(?!\()/,
      /(?<!new )\bDate\(/,
      /\bperformance\.now\b/,
      /\bprocess\.hrtime\b/,
      /\bnowUnsafe\b/,
    ),
    // Effect, which has the clock for all others, would cost this thread most of its memory.
    // So would it in a browser.
    owners: ["packages/postgres/src/internal/LeaseThread", "packages/react/src/internal/Now"],
  },
  {
    what: "randomness",
    pattern: oneOf(
      /\bMath\.random\b/,
      /\bSecureRandom\.layer\w*/,
      /\b(?:randomBytes|uuidV[47]|ulid)Unsafe\b/,
      /\bcrypto\.random\w+/,
      /\bgetRandomValues\b/,
      /\brandom(?:UUID|Bytes|Int)\b.*"(?:node:)?crypto"/,
    ),
    owners: [
      "packages/core/src/engine/Ids",
      // Only checks signatures; the platform's service that does so can also make keys.
      "packages/core/src/engine/internal/WebhookSignature",
      "packages/conformance/src/Samples",
      "packages/http/src/internal/Cursor",
      "packages/http/src/Dashboard",
      "packages/http/src/ErrorMiddleware",
      "packages/postgres/src/internal/FolderLock",
      "packages/react/src/internal/EditorId",
      "packages/webhooks/src/MasterVault",
    ],
  },
  {
    what: "the environment",
    pattern: oneOf(
      /\bprocess\.env\b/,
      /\bprocess\[/,
      /\bimport\.meta\.env\b/,
      /\bfromEnv\b/,
      /\benv\b.*"(?:node:)?process"/,
    ),
    // Threads hand it on, without what is ours.
    owners: ["packages/host/src/internal/ThreadEnvironment", "packages/server/src/Config"],
  },
  {
    what: "imports whose target is computed",
    pattern: oneOf(/\b(?:import|require)\s*\(\s*[^"'\s]/),
    // The module that a blocking node type names is an application's own; an operator names others.
    owners: [
      "packages/host/src/internal/HandlerThread",
      "packages/server/src/internal/nodes/ModuleImport",
    ],
  },
]

const maxLines = 500
const maxColumns = 100

const imports = sources.flatMap(importsOf)
const importsOfTests = tests.flatMap(importsOf)

const sorted = (names: Iterable<string>): ReadonlyArray<string> => [...names].toSorted()

const describeArrow = (one: Import): string | undefined => {
  const own = packageOf(one.from.path)
  const row = arrows[own]
  const { specifier } = one
  if (row === undefined) return `${place(one)}, but ${own} is not in the table of arrows`
  if (specifier.startsWith("node:")) {
    return row.node === true ? undefined : `${place(one)}, but ${own} must run without Node`
  }
  const target = targetOf(one)
  if (target === undefined) {
    return row.libraries.includes(libraryOf(specifier))
      ? undefined
      : `${place(one)}, which ${own} may not depend on`
  }
  if (!exists(target)) return `${place(one)}, which is no file`
  if (specifier.startsWith(".")) {
    return target.startsWith(`packages/${own}/src/`)
      ? undefined
      : `${place(one)}, which lies outside its package`
  }
  const folder = packageOf(target)
  if (folder === own) return `${place(one)}: inside a package, paths are relative`
  const part = row.only?.[folder] ?? ""
  return row.packages.includes(folder) &&
    target.startsWith(posix.join("packages", folder, "src", part))
    ? undefined
    : `${place(one)}, which ${own} may not depend on`
}

const describeFolder = (one: Import): string | undefined => {
  const target = targetOf(one)
  const folderOf = (path: string) => /^packages\/core\/src\/(.*)\//.exec(path)?.[1]?.split("/")[0]
  const from = folderOf(one.from.path)
  if (from === undefined || target === undefined) return undefined
  const to = folderOf(target)
  if (!folders.includes(from)) return `${place(one)}: ${from} is no folder of core`
  return to !== undefined && folders.slice(0, folders.indexOf(from) + 1).includes(to)
    ? undefined
    : `${place(one)}, but the arrow is ${folders.join(" <- ")}`
}

/**
 * What tests of other packages may import: Postgres to start, certificates, pages, a browser, a
 * collector of telemetry.
 */
const sharedTests: ReadonlyArray<string | undefined> = [
  "packages/postgres/test/PostgresServer.ts",
  "packages/egress/test/Certificate.ts",
  "packages/core/test/Markdown.ts",
  "packages/react/test/browser/Chromium.ts",
  "packages/millrace/test/OtlpReceiver.ts",
  "packages/react/test/browser/PageAudit.ts",
]

const describeTestImport = (one: Import): string | undefined => {
  const own = packageOf(one.from.path)
  const target = targetOf(one)
  if (one.specifier.startsWith("node:")) return undefined
  if (one.specifier.startsWith(".")) {
    const isOwn = target?.startsWith(`packages/${own}/`) === true && exists(target)
    return isOwn || sharedTests.includes(target)
      ? undefined
      : `${place(one)}, which is no file of its package`
  }
  const { dependencies, devDependencies, peerDependencies, name } = manifestOf("packages", own)
  const shared = target === undefined ? manifestOf(".").devDependencies : {}
  const known = { ...dependencies, ...devDependencies, ...peerDependencies, ...shared, [name]: "" }
  return libraryOf(one.specifier) in known
    ? undefined
    : `${place(one)}, which the package.json of ${own} does not name`
}

/** One line for each import that closes a ring. */
const cyclesAmong = (all: ReadonlyArray<Import>): ReadonlyArray<string> => {
  const next = Map.groupBy(all, (one) => one.from.path)
  const done = new Set<string>()
  const found: Array<string> = []
  const visit = (path: string, trail: ReadonlyArray<string>): void => {
    for (const one of next.get(path) ?? []) {
      const target = targetOf(one)
      if (target === undefined || done.has(target)) continue
      const start = trail.indexOf(target)
      if (start < 0) visit(target, [...trail, target])
      else found.push(`${place(one)}: ${[...trail.slice(start), target].join(" -> ")}`)
    }
    done.add(path)
  }
  for (const path of next.keys()) if (!done.has(path)) visit(path, [path])
  return found
}

const isDefined = <A>(value: A | undefined): value is A => value !== undefined

/** The same arrows in the linter's words. */
const patternsFor = (row: Row): ReadonlyArray<string> => {
  const anyOf = (names: ReadonlyArray<string>) =>
    names.length === 1 ? names.join("") : `{${names.join(",")}}`
  const seen = row.packages.map((name) =>
    name in (row.only ?? {}) ? `${name}/${row.only?.[name]}` : name,
  )
  const names = [
    ...(seen.length > 0 ? [`@millrace/${anyOf(seen)}`] : []),
    ...(row.libraries.length > 0 ? [anyOf(row.libraries)] : []),
  ]
  return [
    "**",
    ...names.flatMap((name) => [`!${name}`, `!${name}/**`]),
    ...(row.node === true ? ["!node:*", "!node:*/**"] : []),
    "!./**",
  ]
}

interface LintConfig {
  readonly overrides: ReadonlyArray<{
    readonly files: ReadonlyArray<string>
    readonly rules: Readonly<Record<string, unknown>>
  }>
}

const lintGroups = () =>
  Object.fromEntries(
    (readJson(".oxlintrc.json") as LintConfig).overrides.flatMap(({ files, rules }) => {
      const rule = rules["eslint/no-restricted-imports"]
      const [, option] = (rule ?? []) as [string, { patterns: [{ group: ReadonlyArray<string> }] }?]
      return option === undefined ? [] : files.map((file) => [file, option.patterns[0].group])
    }),
  ) as Readonly<Record<string, ReadonlyArray<string>>>

const expectedGroups = () => {
  const core = patternsFor({ packages: [], libraries: ["effect"] })
  const rest = Object.entries(arrows).filter(([name]) => name !== "core")
  return {
    "packages/core/src/*.ts": core,
    ...Object.fromEntries(
      folders.flatMap((folder, index) => {
        const before = folders.slice(0, index)
        return [
          [`packages/core/src/${folder}/*.ts`, [...core, ...before.map((one) => `!../${one}/**`)]],
          [
            `packages/core/src/${folder}/internal/*.ts`,
            [...core, "!../*", ...before.map((one) => `!../../${one}/**`)],
          ],
        ].filter(([files]) => sources.some(({ path }) => posix.matchesGlob(path, String(files))))
      }),
    ),
    ...Object.fromEntries(
      rest.map(([name, row]) => [`packages/${name}/src/**`, [...patternsFor(row), "!../**"]]),
    ),
  }
}

describe("Architecture.reading", () => {
  it("finds sources in every package", () => {
    const empty = packageNames.filter(
      (name) => !sources.some((source) => packageOf(source.path) === name),
    )
    expect(empty).toEqual([])
    expect(imports).not.toEqual([])
  })

  it("sees every way to import, over several lines too, and no comment", () => {
    const text = [
      'import { a } from "./a.ts"',
      "import type {",
      "  B,",
      '} from "./b.ts" // import "./not.ts"',
      'export * as c from "./c.ts"',
      'import "./d.ts"',
      '/* import "./not.ts" */ const e = load("./e.ts")',
      'const url = /https?:\\/\\//.test(c) && load("./f.ts")',
    ].join("\n")
    const source = sourceOf("x.ts", text.replaceAll("load", "import"))
    const found = importsOf(source).map((one) => `${one.line} ${one.specifier}`)
    expect(found).toEqual(["1 ./a.ts", "4 ./b.ts", "5 ./c.ts", "6 ./d.ts", "7 ./e.ts", "8 ./f.ts"])
  })

  it("sees a ring of files, and none where there is none", () => {
    const ring = (last: string) =>
      cyclesAmong(
        ["./b.ts", "./c.ts", last].flatMap((specifier, index) =>
          importsOf(sourceOf(`src/${"abc"[index] ?? ""}.ts`, `import { x } from "${specifier}"`)),
        ),
      )
    expect(ring("./a.ts")).toEqual([
      "src/c.ts:1 imports ./a.ts: src/a.ts -> src/b.ts -> src/c.ts -> src/a.ts",
    ])
    expect(ring("./d.ts")).toEqual([])
  })

  it("tells a reading of the clock from a date that is made from a number", () => {
    const patternOf = (what: string) => owned.find((one) => one.what === what)?.pattern ?? /$^/
    const reads = (text: string) =>
      offences([sourceOf("x.ts", text)], patternOf("the clock"), (found) => found)
    expect(reads("const a = new Date()\nconst b = Date.now()")).toEqual([
      "x.ts:1 new Date()",
      "x.ts:2 Date.now",
    ])
    expect(reads("new Date(5) // Date.now()")).toEqual([])
  })
})

describe("Architecture.arrows", () => {
  it("names every package in the table, and no other", () => {
    expect(sorted(Object.keys(arrows))).toEqual(sorted(packageNames))
  })

  it("keeps the imports of every package to its row of the table", () => {
    expect(imports.map(describeArrow).filter(isDefined)).toEqual([])
  })

  it("keeps core to domain <- graph <- ports <- engine", () => {
    expect(imports.map(describeFolder).filter(isDefined)).toEqual([])
  })

  it("has no ring of files", () => {
    expect(cyclesAmong(imports)).toEqual([])
  })

  it("lets tests import what their package.json names, and nothing else", () => {
    expect(importsOfTests.map(describeTestImport).filter(isDefined)).toEqual([])
  })

  it("lets nothing but tests import the conformance suites and the simulation", () => {
    const suites = ["conformance", "simulation"]
    const found = imports.filter(
      (one) =>
        suites.includes(workspaceOf(one.specifier) ?? "") &&
        !suites.includes(packageOf(one.from.path)),
    )
    expect(found.map(place)).toEqual([])
  })

  it("keeps what is internal from other packages, and nothing else", () => {
    const seen = [...imports, ...importsOfTests]
      .filter((one) => !one.specifier.startsWith(".") || one.from.path.endsWith("/index.ts"))
      .map((one) => ({ one, target: targetOf(one) ?? "" }))
    const crossed = seen.filter(({ target }) => /\/internal\//.test(target))
    expect(crossed.map(({ one }) => place(one))).toEqual([])
    const reached = new Set([...seen.map(({ target }) => target), ...entries])
    const open = /^packages\/simulation\/|\/core\/src\/domain\/|\/internal\/|\/index\.ts$/
    const hidden = sources.filter(({ path }) => !open.test(path) && !reached.has(path))
    expect(hidden.map(({ path }) => `${path} is used by its own package only`)).toEqual([])
  })

  it.each(Object.keys(arrows))("closes what is internal in the package.json of %s", (folder) => {
    const { exports } = readJson("packages", folder, "package.json") as {
      readonly exports: Readonly<Record<string, unknown>>
    }
    const internal = sources
      .map(({ path }) => posix.dirname(posix.relative(`packages/${folder}/src`, path)))
      .filter((path) => !path.startsWith("..") && /(?:^|\/)internal$/.test(path))
    const open = "./*" in exports ? internal.filter((path) => exports[`./${path}/*`] !== null) : []
    expect(sorted(new Set(open))).toEqual([])
  })

  it.each(Object.entries(arrows))("agrees with the package.json of %s", (folder, row) => {
    const manifest = manifestOf("packages", folder)
    expect(manifest.name).toBe(nameOf(folder))
    const { dependencies, peerDependencies } = manifest
    const all = [...row.packages.map(nameOf), ...row.libraries]
    expect(sorted(Object.keys({ ...dependencies, ...peerDependencies }))).toEqual(sorted(all))
  })

  it.each(Object.entries(arrows))("agrees with the project references of %s", (folder, row) => {
    const { references } = readJson("packages", folder, "tsconfig.json") as {
      readonly references: ReadonlyArray<{ readonly path: string }>
    }
    expect(sorted(references.map(({ path }) => posix.basename(path)))).toEqual(sorted(row.packages))
  })

  it("is told to the linter in the same words", () => {
    expect(lintGroups()).toEqual(expectedGroups())
  })
})

describe("Architecture.owners", () => {
  it.each(owned)("leaves $what to its owners", ({ owners, pattern, what }) => {
    const others = sources.filter(({ path }) => !owners.some((owner) => path.startsWith(owner)))
    expect(offences(others, pattern, (found) => `touches ${what}: ${found}`)).toEqual([])
  })

  it.each(owned)("names no owner of $what that does not touch it", ({ owners, pattern }) => {
    const idle = owners.filter((owner) => {
      const own = sources.filter(({ path }) => path.startsWith(owner))
      return offences(own, pattern, String).length === 0
    })
    expect(idle).toEqual([])
  })
})

describe("Architecture.files", () => {
  it(`holds at most ${maxLines} lines in a file`, () => {
    const long = everything
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
      .filter(({ lines }) => lines > maxLines)
    expect(long.map(({ lines, path }) => `${path}:${lines} is the last line`)).toEqual([])
  })

  it(`holds at most ${maxColumns} columns in a line`, () => {
    const wide = new RegExp(`^.{${maxColumns + 1},}$`, "gmu")
    expect(offences(everything, wide, (found) => `has ${found.length} columns`, "text")).toEqual([])
  })

  it("begins with a comment", () => {
    const bare = sources.filter(({ text }) => !/^(?:#!.*\n)?(?:\/\*|\/\/)/.test(text))
    expect(bare.map(({ path }) => `${path}:1 says nothing about the file`)).toEqual([])
  })

  it("has no default export", () => {
    const pattern = /^[ \t]*export\s+default\b|\bas\s+default\b/gm
    expect(offences(sources, pattern, () => "exports a default")).toEqual([])
  })

  it("is named after a noun of the field", () => {
    const plain = /\/(?:[A-Z]\w*|index|main)\.(?:tsx?|d\.ts)$/
    const vague = /\/(?:utils?|helpers?|common|types?|lib)[./]/i
    const bad = sources.filter(({ path }) => !plain.test(path) || vague.test(path))
    expect(bad.map(({ path }) => `${path}:1 needs a PascalCase noun for a name`)).toEqual([])
  })

  // V8 makes a hidden class for each object whose literal has one, which took a third of a step.
  it("has getters in classes, and none in a literal", () => {
    const pattern = /^ {4,}[gs]et \w+\(/gm
    expect(offences(sources, pattern, () => "makes a getter for each object")).toEqual([])
  })

  it("silences neither the linter nor the compiler", () => {
    const silencer = /\b(?:oxlint|eslint)-disable|@ts-(?:ignore|nocheck)\b/g
    const here = "packages/core/test/Architecture.test.ts"
    const others = everything.filter(({ path }) => path !== here)
    expect(offences(others, silencer, (found) => `says ${found}`, "text")).toEqual([])
    const expecting = offences(sources, /@ts-expect-error\b/g, (found) => `says ${found}`, "text")
    expect(expecting).toEqual([])
  })
})
