/**
 * The parts of the repository whose tests are tested: where the sources of each one are, and which
 * tests must notice when one of them is wrong.
 *
 * A part is judged by the tests of its own package, unless tests of another one are named. Leaves
 * out tests that start processes or read the sources as text.
 */

/** One part. */
export interface Part {
  /** The folder of its package in `packages/`. */
  readonly package: string
  /** The folder of its sources, from the folder of the package. */
  readonly sources: string
  /** Its tests, as patterns from the folder of the package. */
  readonly tests: ReadonlyArray<string>
}

const ofEngine = ["test/domain/*.test.ts", "test/graph/*.test.ts", "test/engine/*.test.ts"]

/** Every part by the name that `npm run test:mutants` takes. */
export const parts: Readonly<Record<string, Part>> = {
  "core/domain": { package: "core", sources: "src/domain", tests: ofEngine },
  "core/graph": { package: "core", sources: "src/graph", tests: ["test/graph/*.test.ts"] },
  "core/engine": { package: "core", sources: "src/engine", tests: ofEngine },
  webhooks: { package: "webhooks", sources: "src", tests: ["test/**/*.test.ts"] },
  egress: { package: "egress", sources: "src", tests: ["test/**/*.test.ts"] },
}

/**
 * Named tests of a part, as a pattern from `packages/`. `NAME` is of the part's own package;
 * `millrace:NAME` is of another one, for what only callers from outside can see.
 */
export const namedTests = (part: Part, name: string): string => {
  const [own = "", other] = name.split(":")
  const [folder, file] = other === undefined ? [part.package, own] : [own, other]
  return `${folder}/test/**/${file}.test.ts`
}
