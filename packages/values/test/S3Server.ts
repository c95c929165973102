/**
 * A server that speaks the protocol of S3, with one empty bucket in a folder of its own.
 */
import { Effect } from "effect"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { temporaryFolder } from "./TemporaryFolder.ts"

interface Server {
  run(): Promise<AddressInfo>
  close(): Promise<void>
}

// The package has no types.
const S3rver = createRequire(import.meta.url)("s3rver") as new (options: object) => Server

export const bucket = "values"

/** The options of a store in it. */
export const s3Server = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const server = new S3rver({
    directory,
    address: "127.0.0.1",
    port: 0,
    silent: true,
    configureBuckets: [{ name: bucket }],
  })
  const { port } = yield* Effect.acquireRelease(
    Effect.promise(() => server.run()),
    () => Effect.promise(() => server.close()),
  )
  return {
    bucket,
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" },
  }
})
