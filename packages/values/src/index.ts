/**
 * The public modules of this package, each as a namespace. Deep imports
 * (`@millrace/values/FolderValues`) give the same and load less.
 */
export * as FolderValues from "./FolderValues.ts"
export * as S3Values from "./S3Values.ts"
