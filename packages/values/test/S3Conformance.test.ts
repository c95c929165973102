/**
 * S3 against the suite of every store of large values: a whole bucket, and a prefix of one.
 */
import { valueConformance } from "@millrace/conformance"
import { Stores } from "@millrace/memory"
import { S3Values } from "@millrace/values"
import { Effect, Layer } from "effect"
import { s3Server } from "./S3Server.ts"

const storesWith = (more: object) =>
  Layer.provideMerge(
    Layer.unwrap(Effect.map(s3Server, (server) => S3Values.layer({ ...server, ...more }))),
    Stores.layer,
  )

valueConformance("a bucket of S3", storesWith({}))

valueConformance("a prefix of a bucket of S3", storesWith({ prefix: "/some/where/" }))
