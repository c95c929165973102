/**
 * The few calls that values need of S3, over the AWS SDK.
 *
 * Guarantees: a call ends within a time, and fails with a sentence. An answer is read whole, so no
 * connection stays open for a slow reader.
 */
import type * as Sdk from "@aws-sdk/client-s3"

/** Where values are in S3. */
export interface S3Options {
  readonly bucket: string
  /** The beginning of all names: `millrace/values`. None by default. */
  readonly prefix?: string | undefined
  /** A server that speaks the protocol of S3: `http://127.0.0.1:9000`. AWS by default. */
  readonly endpoint?: string | undefined
  /** By default what the SDK finds, such as `AWS_REGION`; with an endpoint `us-east-1`. */
  readonly region?: string | undefined
  /** By default what the SDK finds: variables, files, or the role of the machine. */
  readonly credentials?:
    | {
        readonly accessKeyId: string
        readonly secretAccessKey: string
        readonly sessionToken?: string
      }
    | undefined
}

/** Bytes that one request reads at most. */
export const pieceBytes = 4_194_304

const connectMillis = 5_000
const answerMillis = 60_000
const tries = 3

/** The objects of a bucket, by name. */
export interface Bucket {
  /** Bytes of an object; `undefined` if there is no such object. */
  readonly size: (name: string, signal: AbortSignal) => Promise<number | undefined>
  readonly write: (name: string, bytes: Uint8Array, signal: AbortSignal) => Promise<void>
  /** Bytes of an object, from the first to the last of these, which it must have. */
  readonly read: (
    name: string,
    first: number,
    last: number,
    signal: AbortSignal,
  ) => Promise<Uint8Array>
  readonly remove: (name: string, signal: AbortSignal) => Promise<void>
  /** Objects behind a name, in the order of their names. Empty: there are no more. */
  readonly list: (
    prefix: string,
    behind: string | undefined,
    limit: number,
    signal: AbortSignal,
  ) => Promise<ReadonlyArray<{ readonly name: string; readonly writtenAt: number }>>
  readonly close: () => void
}

/** An error of the SDK, or of the connection below it. */
interface SdkError {
  readonly name?: string
  readonly code?: string
  readonly message?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

const load = async (): Promise<typeof Sdk> => {
  try {
    return await import("@aws-sdk/client-s3")
  } catch (cause) {
    if ((cause as SdkError).code !== "ERR_MODULE_NOT_FOUND") throw cause
    throw new Error(
      "values in S3 need the package @aws-sdk/client-s3: install it with " +
        "npm install @aws-sdk/client-s3",
      { cause },
    )
  }
}

const absent: ReadonlyArray<string | undefined> = ["NoSuchKey", "NotFound"]

/**
 * A sentence, because the error itself holds the request with its signature. It names no place,
 * because the node whose value it was shows it.
 */
const said = (error: unknown): Error => {
  const { $metadata, code, message, name } = error as SdkError
  const status = $metadata?.httpStatusCode
  const reason = code ?? (name === undefined || name === "Error" ? message : name)
  return new Error(
    status === undefined
      ? `the bucket of values cannot be reached (${reason})`
      : `the bucket of values refused the call (${status} ${reason})`,
  )
}

const clientOf = ({ S3Client }: typeof Sdk, options: S3Options): Sdk.S3Client => {
  const { credentials, endpoint, region } = options
  return new S3Client({
    maxAttempts: tries,
    // Servers beside AWS do not know the newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectMillis,
      requestTimeout: answerMillis,
      throwOnRequestTimeout: true,
    },
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true, region: "us-east-1" }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
  })
}

const bucketOver = (sdk: typeof Sdk, client: Sdk.S3Client, Bucket: string): Bucket => {
  const calling = async <A>(call: Promise<A>): Promise<A> => {
    try {
      return await call
    } catch (error) {
      throw said(error)
    }
  }
  return {
    size: async (Key, abortSignal) => {
      try {
        const found = await client.send(new sdk.HeadObjectCommand({ Bucket, Key }), { abortSignal })
        return found.ContentLength ?? 0
      } catch (error) {
        if (absent.includes((error as SdkError).name)) return undefined
        throw said(error)
      }
    },
    write: async (Key, Body, abortSignal) => {
      const command = new sdk.PutObjectCommand({ Bucket, Key, Body, ContentLength: Body.length })
      await calling(client.send(command, { abortSignal }))
    },
    read: async (Key, first, last, abortSignal) => {
      const command = new sdk.GetObjectCommand({ Bucket, Key, Range: `bytes=${first}-${last}` })
      const answer = client.send(command, { abortSignal })
      return await calling(answer.then(({ Body }) => Body!.transformToByteArray()))
    },
    remove: async (Key, abortSignal) => {
      await calling(client.send(new sdk.DeleteObjectCommand({ Bucket, Key }), { abortSignal }))
    },
    list: async (Prefix, Marker, MaxKeys, abortSignal) => {
      // Not the second version: its tokens are no use here, and not every server has it.
      const command = new sdk.ListObjectsCommand({ Bucket, Prefix, Marker, MaxKeys })
      const { Contents = [] } = await calling(client.send(command, { abortSignal }))
      return Contents.flatMap(({ Key, LastModified }) =>
        Key === undefined ? [] : [{ name: Key, writtenAt: LastModified?.getTime() ?? Infinity }],
      )
    },
    close: () => client.destroy(),
  }
}

/** A bucket, over connections of its own. Nothing is called yet. */
export const openBucket = async (options: S3Options): Promise<Bucket> => {
  const sdk = await load()
  const client = clientOf(sdk, options)
  await client.config.region().catch(() => {
    throw new Error("no region is known for the bucket of values: set AWS_REGION, or the option")
  })
  return bucketOver(sdk, client, options.bucket)
}
