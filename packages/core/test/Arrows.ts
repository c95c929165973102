/**
 * What each package may import. The architecture test holds the sources, the `package.json` files,
 * the project references and the linter's configuration to it.
 */

/** What the sources of a package may import beside their own files. */
export interface Row {
  /** Folders of `packages/`. */
  readonly packages: ReadonlyArray<string>
  /** Packages from the registry. */
  readonly libraries: ReadonlyArray<string>
  /** Whether the package runs on Node only and may use its modules. */
  readonly node?: boolean
  /** The parts of other packages that may be seen, where it is not all of them. */
  readonly only?: Readonly<Record<string, string>>
}

const adapters = ["memory", "postgres", "values"]
const everyLayer = ["core", ...adapters, "nodes", "egress", "api", "http", "webhooks", "host"]

const drawing = ["@xyflow/react", "@dagrejs/dagre", "@tanstack/react-query"]
const editing = ["commands", "lang-json", "language", "state", "view"].map(
  (name) => `@codemirror/${name}`,
)

/** The arrows between packages; docs/contributing.md shows the same table to people. */
export const arrows: Readonly<Record<string, Row>> = {
  core: { packages: [], libraries: ["effect"] },
  memory: { packages: ["core"], libraries: ["effect"] },
  postgres: {
    packages: ["core"],
    libraries: ["effect", "@effect/sql-pg", "@electric-sql/pglite", "pg"],
    node: true,
  },
  sqlite: { packages: ["core"], libraries: ["effect"], node: true },
  values: { packages: ["core"], libraries: ["effect", "@aws-sdk/client-s3"], node: true },
  egress: { packages: [], libraries: ["effect", "undici", "ipaddr.js"], node: true },
  expressions: {
    packages: ["core"],
    libraries: ["effect", "quickjs-emscripten-core", "@jitl/quickjs-wasmfile-release-sync"],
    node: true,
  },
  webhooks: { packages: ["core", "egress"], libraries: ["effect"], node: true },
  nodes: {
    packages: ["core", "egress"],
    libraries: ["effect", "csv-parse", "fast-xml-parser", "nodemailer", "pg"],
    node: true,
  },
  api: { packages: ["core"], libraries: ["effect"], only: { core: "domain" } },
  http: { packages: ["core", "api"], libraries: ["effect"] },
  host: {
    packages: ["core", "egress", "expressions", "webhooks"],
    libraries: ["effect", "croner"],
    node: true,
  },
  server: {
    packages: [...everyLayer, "dashboard"],
    libraries: ["effect", "@effect/platform-node", "@electric-sql/pglite", "nodemailer"],
    node: true,
  },
  millrace: {
    packages: [...everyLayer, "dashboard", "sqlite"],
    libraries: ["effect", "@electric-sql/pglite"],
    node: true,
  },
  react: {
    packages: ["api"],
    libraries: ["react", "react-dom", "lucide-react", ...drawing, ...editing],
    only: { api: "PromiseClient" },
  },
  dashboard: { packages: [], libraries: [], node: true },
  conformance: { packages: ["core"], libraries: ["effect", "vitest", "@effect/vitest"] },
  simulation: {
    packages: ["core", "conformance", "webhooks", "nodes"],
    libraries: ["effect", "vitest", "@effect/vitest"],
  },
}
