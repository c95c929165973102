/**
 * The variables and flags of every setting but the limits: their names, their texts and their
 * readers. Reading, help and messages all use this one list.
 */
import { longestLeaseMillis, shortestLeaseMillis } from "@millrace/core/domain/Limits"
import { isMasterKey, masterKeyForm } from "@millrace/webhooks/MasterKey"
import * as Redacted from "effect/Redacted"
import * as Readers from "./Readers.ts"
import type {
  AccountSettings,
  DatabaseSettings,
  DevSettings,
  KeySettings,
  RemoteSettings,
  ServerSettings,
  ServeSettings,
  TelemetrySettings,
} from "./Settings.ts"
import type { Variable, Variables } from "./Variable.ts"

const { readBetween, readBoolean, readCount, readDuration, units } = Readers

const listenVariables: Variables<Pick<ServerSettings, "port" | "host">> = {
  port: {
    name: "MILLRACE_PORT",
    expected: "a port from 0 to 65535",
    read: Readers.readPort,
    flag: {
      name: "port",
      metavar: "port",
      description: "Port to listen on; 0 takes any free one",
    },
  },
  host: {
    name: "MILLRACE_HOST",
    expected: "a host name or an address",
    read: String,
    flag: { name: "host", metavar: "address", description: "Address to listen on" },
  },
}

const egressVariables: Variables<Pick<ServerSettings, "egressAllow">> = {
  egressAllow: {
    name: "MILLRACE_EGRESS_ALLOW",
    expected: "networks such as 127.0.0.1/32:8080,[::1]/128, separated by commas",
    read: Readers.readNetworks,
  },
}

const portsForm = "ports such as 587,465, or none"

const portVariables: Variables<Pick<ServerSettings, "smtpPorts" | "postgresPorts">> = {
  smtpPorts: { name: "MILLRACE_SMTP_PORTS", expected: portsForm, read: Readers.readPorts },
  postgresPorts: { name: "MILLRACE_POSTGRES_PORTS", expected: portsForm, read: Readers.readPorts },
}

/** Where node types of the operator come from. */
export const nodeVariables: Variables<Pick<ServerSettings, "nodes">> = {
  nodes: {
    name: "MILLRACE_NODES",
    expected: "paths such as ./nodes/index.js or names of packages, separated by commas",
    read: Readers.readList,
    flag: {
      name: "nodes",
      metavar: "module",
      description: "A module with node types of your own, which run as part of the server",
      isRepeated: true,
    },
  },
}

const priceVariables: Variables<Pick<ServerSettings, "prices">> = {
  prices: {
    name: "MILLRACE_PRICES",
    expected: "the path of a JSON file",
    read: String,
    flag: {
      name: "prices",
      metavar: "file",
      description: "Prices of node types in credits, in the place of what the types declare",
    },
  },
}

const valueVariables: Variables<Pick<ServeSettings, "values" | "valuesEndpoint" | "valuesRegion">> =
  {
    values: {
      name: "MILLRACE_VALUES",
      expected: "a folder such as ./values, or s3://bucket/prefix",
      read: Readers.readPlace,
      flag: {
        name: "values",
        metavar: "place",
        description: "Folder or s3://bucket/prefix for large values, in the place of the database",
      },
    },
    valuesEndpoint: {
      name: "MILLRACE_VALUES_ENDPOINT",
      expected: "an address such as https://host:9000",
      read: Readers.readOrigin,
    },
    valuesRegion: {
      name: "MILLRACE_VALUES_REGION",
      expected: "a region such as eu-central-1",
      read: (text) => (/^[\w-]+$/.test(text) ? text : undefined),
    },
  }

/** The names are those of the OpenTelemetry specification. */
const telemetryVariables: Variables<TelemetrySettings> = {
  otlpEndpoint: {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    expected: "the address of a collector such as http://localhost:4318",
    read: Readers.readOrigin,
  },
  otlpHeaders: {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    expected: "headers such as x-key=secret,x-team=shop",
    read: Readers.readHeaders,
  },
  serviceName: { name: "OTEL_SERVICE_NAME", expected: "a name", read: String },
}

const masterKeyVariable: Variable<Redacted.Redacted> = {
  name: "MILLRACE_MASTER_KEY",
  expected: masterKeyForm,
  read: (text) => (isMasterKey(text) ? Redacted.make(text) : undefined),
  missing:
    `No master key is set: set MILLRACE_MASTER_KEY to ${masterKeyForm}, the same on every server ` +
    "of a database; openssl rand -base64 32 makes one",
}

const keyVariables: Variables<KeySettings> = {
  keyPrefix: {
    name: "MILLRACE_KEY_PREFIX",
    expected: "2 to 16 of a-z, 0-9 and _, a letter first and an _ at the end",
    read: Readers.readPrefix,
  },
}

const tokenVariables: Variables<Pick<ServerSettings, "adminToken">> = {
  adminToken: {
    name: "MILLRACE_ADMIN_TOKEN",
    expected: "24 visible characters or more",
    read: Readers.readToken,
  },
}

/** What `millrace dev` reads. */
export const devVariables: Variables<Omit<DevSettings, "limits">> = {
  ...listenVariables,
  ...keyVariables,
  ...tokenVariables,
  data: {
    name: "MILLRACE_DATA",
    expected: "a path",
    read: String,
    flag: {
      name: "data",
      metavar: "folder",
      description: "Folder of the embedded store, made if missing",
    },
  },
  memory: {
    name: "MILLRACE_MEMORY",
    expected: "true or false",
    read: readBoolean,
    flag: { name: "memory", means: true, description: "Keep everything in memory only" },
  },
  seed: {
    name: "MILLRACE_SEED",
    expected: "true or false",
    read: readBoolean,
    flag: {
      name: "no-seed",
      means: false,
      description: "Make no example workflows and run no demonstration",
    },
  },
  masterKey: masterKeyVariable,
  ...egressVariables,
  ...portVariables,
  ...nodeVariables,
  ...priceVariables,
}

const addressForm = "an address such as postgres://user:password@host:5432/database"

/** What a command on a database reads. */
export const databaseVariables: Variables<DatabaseSettings> = {
  ...keyVariables,
  databaseUrl: {
    name: "DATABASE_URL",
    expected: addressForm,
    // The address holds a password, so no message may repeat it. That is why `read` takes any text.
    read: Redacted.make,
    accepts: (url) => /^postgres(?:ql)?:\/\/./.test(Redacted.value(url)),
    missing:
      `No database is named: set DATABASE_URL (or --database-url) to ${addressForm}, ` +
      "or run millrace dev, which brings its own",
    flag: {
      name: "database-url",
      metavar: "url",
      description: "The Postgres to use; other users can see a flag, but not the variable",
    },
  },
  connections: {
    name: "MILLRACE_DATABASE_CONNECTIONS",
    expected: "a number from 1 to 1000",
    read: readBetween(readCount, 1, 1_000),
    flag: {
      name: "connections",
      metavar: "number",
      description: "Connections to the database at most",
    },
  },
  migrate: {
    name: "MILLRACE_MIGRATE",
    expected: "true or false",
    read: readBoolean,
    flag: { name: "no-migrate", means: false, description: "Leave the tables as they are" },
  },
}

/** What `millrace serve` reads. */
export const serveVariables: Variables<Omit<ServeSettings, "limits">> = {
  ...listenVariables,
  ...databaseVariables,
  masterKey: masterKeyVariable,
  leaseMillis: {
    name: "MILLRACE_LEASE",
    expected: "a duration from 1s to 1h",
    read: readBetween(readDuration, shortestLeaseMillis, longestLeaseMillis),
    flag: {
      name: "lease",
      metavar: "duration",
      description: "How long a server owns its runs without a heartbeat",
    },
  },
  graceMillis: {
    name: "MILLRACE_GRACE",
    expected: "a duration from 0s to 1h",
    read: readBetween(readDuration, 0, units.h),
    flag: {
      name: "grace",
      metavar: "duration",
      description: "How long nodes in progress may go on after the server is told to stop",
    },
  },
  requestMillis: {
    name: "MILLRACE_REQUEST_TIMEOUT",
    expected: "a duration from 100ms to 10m",
    read: readBetween(readDuration, 100, 10 * units.m),
    flag: {
      name: "request-timeout",
      metavar: "duration",
      description: "How long a request may take before it is answered with 503",
    },
  },
  trustedProxies: {
    name: "MILLRACE_TRUSTED_PROXIES",
    expected: "addresses or networks such as 10.0.0.0/8,::1, separated by commas",
    read: Readers.readProxies,
  },
  frameAncestors: {
    name: "MILLRACE_FRAME_ANCESTORS",
    expected: "origins such as https://app.example.com, separated by commas",
    read: Readers.readFrameOrigins,
  },
  publicUrl: {
    name: "MILLRACE_PUBLIC_URL",
    expected: "an address with https such as https://flows.example.com/automation",
    read: Readers.readPublicUrl,
    flag: {
      name: "public-url",
      metavar: "url",
      description: "Where browsers reach the server: behind a proxy, and for links in mails",
    },
  },
  allowedOrigins: {
    name: "MILLRACE_ALLOWED_ORIGINS",
    expected: "origins such as https://app.example.com, separated by commas",
    read: Readers.readOrigins,
  },
  ...valueVariables,
  ...telemetryVariables,
  ...tokenVariables,
  ...egressVariables,
  ...portVariables,
  ...nodeVariables,
  ...priceVariables,
}

/** What a command on a running server reads. */
export const remoteVariables: Variables<RemoteSettings> = {
  url: {
    name: "MILLRACE_URL",
    expected: "an address such as http://host:7411",
    read: Readers.readOrigin,
    flag: { name: "url", metavar: "url", description: "A running server to work on" },
  },
  adminToken: {
    ...tokenVariables.adminToken,
    flag: {
      name: "admin-token",
      metavar: "token",
      description: "That server's admin token; other users can see a flag, but not the variable",
      // Takes any text, because a message about a wrong one would show the token.
      read: Redacted.make,
    },
  },
}

/** What a command within an account reads. */
export const accountVariables: Variables<AccountSettings> = {
  url: {
    ...remoteVariables.url,
    missing: "MILLRACE_URL (or --url): expected the address of a running server",
  },
  apiKey: {
    name: "MILLRACE_API_KEY",
    expected: "a key of the account; millrace keys create makes one",
    read: Redacted.make,
    missing:
      "MILLRACE_API_KEY (or --api-key): expected a key of the account; millrace keys create " +
      "makes one",
    flag: {
      name: "api-key",
      metavar: "key",
      description: "A key of the account; other users can see a flag, but not the variable",
    },
  },
}

/** What a command on a folder of `millrace dev` reads. */
export const folderVariables: Variables<Pick<DevSettings, "data" | "keyPrefix">> = {
  data: {
    ...devVariables.data,
    flag: {
      name: "data",
      metavar: "folder",
      description: "Folder of a millrace dev that is not running",
    },
  },
  ...keyVariables,
}

/** What a command on the data itself reads for webhooks. */
export const hookVariables: Variables<
  Pick<DevSettings, "masterKey" | "egressAllow"> & Pick<ServeSettings, "publicUrl">
> = {
  masterKey: masterKeyVariable,
  publicUrl: serveVariables.publicUrl,
  ...egressVariables,
}
