/** The module that the server loads: every node type that it exports can be drawn. */
export * from "./price.ts"
