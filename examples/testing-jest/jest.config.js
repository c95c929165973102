/**
 * Jest removes types with Node's own function, so it needs no other compiler. The conditions and
 * the patterns are there because this repository reads its packages from their sources; elsewhere
 * `transform` and `extensionsToTreatAsEsm` are enough, and tests in JavaScript need neither.
 */
export default {
  extensionsToTreatAsEsm: [".ts"],
  transform: { "\\.ts$": "./transform.cjs" },
  transformIgnorePatterns: [],
  testEnvironmentOptions: { customExportConditions: ["@millrace/source", "node"] },
}
