/**
 * The settings of servers and commands, made from flags, variables and defaults.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import type * as Redacted from "effect/Redacted"

/** A private network that workflows may call. */
export interface AllowedNetwork {
  /** `127.0.0.1/32`. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
}

/** The settings of new API keys. */
export interface KeySettings {
  /** The first characters of new API keys. */
  readonly keyPrefix: string
}

/** The settings that `dev` and `serve` share. */
export interface ServerSettings extends KeySettings {
  /** 0: any free port. */
  readonly port: number
  readonly host: string
  readonly egressAllow: ReadonlyArray<AllowedNetwork>
  /** The ports on which nodes may call public mail servers. */
  readonly smtpPorts: ReadonlyArray<number>
  /** The ports on which nodes may call public databases. */
  readonly postgresPorts: ReadonlyArray<number>
  /** The admin token. Null: `serve` has no admin interface, and `dev` makes a token. */
  readonly adminToken: Redacted.Redacted | null
  /** Modules with node types: paths, or names of packages. */
  readonly nodes: ReadonlyArray<string>
  /** The path of a file with prices of node types. Null: they cost what they declare. */
  readonly prices: string | null
  readonly limits: Limits
}

/** The settings of `millrace dev`. */
export interface DevSettings extends ServerSettings {
  /** The folder of the embedded store, as given. */
  readonly data: string
  /** True: keep nothing, and touch no folder. */
  readonly memory: boolean
  /** False: no example workflows and no demonstration. */
  readonly seed: boolean
  /** The master key. Null: the key in the data folder, made if missing. */
  readonly masterKey: Redacted.Redacted | null
}

/** Which database to use, and how. */
export interface DatabaseSettings extends KeySettings {
  readonly databaseUrl: Redacted.Redacted
  /** Connections at most. Up to four more keep the lease and hear of new runs. */
  readonly connections: number
  /** False: the server does not change the tables. */
  readonly migrate: boolean
}

/** Where spans and metrics go; the names of the variables are those of OpenTelemetry. */
export interface TelemetrySettings {
  /** The address of a collector that takes OTLP over HTTP. Null: nothing is sent. */
  readonly otlpEndpoint: string | null
  /** Headers of every request, such as a key. Null: none. */
  readonly otlpHeaders: Redacted.Redacted<Readonly<Record<string, string>>> | null
  /** What the collector calls the server. */
  readonly serviceName: string
}

/** The settings of `millrace serve`. */
export interface ServeSettings extends ServerSettings, DatabaseSettings, TelemetrySettings {
  /** The master key. */
  readonly masterKey: Redacted.Redacted
  /** How long a server owns its runs without a heartbeat. */
  readonly leaseMillis: number
  /** How long nodes in progress may go on once the server was told to stop. */
  readonly graceMillis: number
  /** How long the answer to a complete request may take. */
  readonly requestMillis: number
  /** Where large values are: a folder, or `s3://bucket/prefix`. Null: in the database. */
  readonly values: string | null
  /** The address of a server that speaks the protocol of S3. Null: AWS. */
  readonly valuesEndpoint: string | null
  /** The region of the bucket. Null: what the AWS SDK finds. */
  readonly valuesRegion: string | null
  /** Networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Origins whose pages may frame the dashboard. */
  readonly frameAncestors: ReadonlyArray<string>
  /** Where browsers reach the server, with the path. Null: where it says it is reached. */
  readonly publicUrl: string | null
  /** Origins whose pages may call the console with the token of a session. */
  readonly allowedOrigins: ReadonlyArray<string>
}

/** The address of a running server, and its admin token. */
export interface RemoteSettings extends Pick<ServerSettings, "adminToken"> {
  readonly url: string
}

/** The address of a running server, and a key of an account there. */
export interface AccountSettings {
  readonly url: string
  readonly apiKey: Redacted.Redacted
}

/** What was typed; an absent flag is `undefined`. */
export type Flags<S> = { readonly [K in keyof S]?: S[K] | undefined }
export type DevFlags = Flags<Omit<DevSettings, "limits">>
export type DatabaseFlags = Flags<DatabaseSettings>
export type ServeFlags = Flags<Omit<ServeSettings, "limits">>
