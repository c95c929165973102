/**
 * The names that this package promises. Its modules are imported by their own paths as well.
 */
export * as QuickJs from "./QuickJs.ts"
