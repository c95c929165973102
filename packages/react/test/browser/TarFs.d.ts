/** What is used of the package; it brings no types. */
declare module "tar-fs" {
  export const extract: (folder: string) => NodeJS.WritableStream
}
