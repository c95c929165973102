/**
 * What servers and commands go by, once flags, variables and defaults are one.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import type * as Redacted from "effect/Redacted"

/** A network that graphs may call though it is not public. */
export interface AllowedNetwork {
  /** `127.0.0.1/32`. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
}

/** What new API keys are like, whoever makes them. */
export interface KeySettings {
  /** What new API keys begin with. */
  readonly keyPrefix: string
}

/** Where a server listens, whom it lets in, and what its workflows may call. */
export interface ServerSettings extends KeySettings {
  /** 0: any free port. */
  readonly port: number
  readonly host: string
  readonly egressAllow: ReadonlyArray<AllowedNetwork>
  /** What operators show. Null: there is no interface for them, or `dev` makes a token up. */
  readonly adminToken: Redacted.Redacted | null
  /** What is bounded, and by how much. */
  readonly limits: Limits
}

/** What `millrace dev` goes by. */
export interface DevSettings extends ServerSettings {
  /** The folder of the embedded store, as given. */
  readonly data: string
  /** True: keep nothing, and touch no folder. */
  readonly memory: boolean
  /** False: no example workflows and no demonstration. */
  readonly seed: boolean
  /** What secrets are kept with. Null: the one in the data folder, made when missing. */
  readonly masterKey: Redacted.Redacted | null
}

/** Which database to use, and how. */
export interface DatabaseSettings extends KeySettings {
  readonly databaseUrl: Redacted.Redacted
  /** Connections at most, beside up to five that keep the lease and hear of new runs. */
  readonly connections: number
  /** False: the tables are brought up to date by somebody else. */
  readonly migrate: boolean
}

/** What `millrace serve` goes by. */
export interface ServeSettings extends ServerSettings, DatabaseSettings {
  /** What secrets are kept with. */
  readonly masterKey: Redacted.Redacted
  /** How long runs stay with a server that gives no sign of life. */
  readonly leaseMillis: number
  /** How long nodes in progress may go on once the server was told to stop. */
  readonly graceMillis: number
  /** How long a request that has arrived may take to be answered. */
  readonly requestMillis: number
  /** Networks of proxies that are believed when they say whose request it is. */
  readonly trustedProxies: ReadonlyArray<string>
}

/** Where a running server is, and what it wants to be shown. */
export interface RemoteSettings extends Pick<ServerSettings, "adminToken"> {
  readonly url: string
}

/** What the command line says; what it leaves out is `undefined`. */
export type Flags<S> = { readonly [K in keyof S]?: S[K] | undefined }
export type DevFlags = Flags<Omit<DevSettings, "limits">>
export type DatabaseFlags = Flags<DatabaseSettings>
export type ServeFlags = Flags<Omit<ServeSettings, "limits">>
