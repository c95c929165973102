/**
 * The client of the console, for pages of people who have signed in and for components that have
 * the token of a session. It is the client of API keys, and has what the account has besides.
 *
 * Guarantees: runs wherever there is `fetch`, and does not load Effect.
 */
import type * as Credits from "./AdminCreditsWire.ts"
import type * as NodeTypes from "./AdminNodeTypeWire.ts"
import type * as Quarantine from "./AdminQuarantineWire.ts"
import type * as Secret from "./AdminSecretWire.ts"
import type * as Webhook from "./AdminWebhookWire.ts"
import type * as Wire from "./AdminWire.ts"
import type { CallOptions } from "./internal/Ask.ts"
import { makeAsk } from "./internal/Ask.ts"
import type { ConsoleClientOptions, ConsoleTransport } from "./internal/HttpTransport.ts"
import { consoleTransport } from "./internal/HttpTransport.ts"
import type { ConsoleOperationName } from "./internal/Routes.ts"
import type { ApiKey, Client, DeliveryItem } from "./PromiseClient.ts"
import { clientOver } from "./PromiseClient.ts"
import type * as SessionWire from "./SessionWire.ts"

export type { ConsoleClientOptions } from "./internal/HttpTransport.ts"

/** A session: whose it is, what it may do, and until when. */
export type SessionItem = typeof SessionWire.Session.Encoded

/** Who is signed in, if anybody, and whether links or an application sign people in. */
export type SignedIn = typeof SessionWire.SignedIn.Encoded

/** What to sign in with: the ticket of a link, or the token that the server was started with. */
export type SignIn = { readonly ticket: string } | { readonly operatorToken: string }

/** What a new session may do, and how it is handed over. */
export type CreateSession = typeof SessionWire.CreateSession.Encoded

/** A new session with its ticket, or its token. */
export type CreatedSession = typeof SessionWire.CreatedSession.Encoded

/** An API key without its secret. */
export type ConsoleKey = ApiKey

/** A new API key with its secret. */
export type CreatedConsoleKey = typeof Wire.CreatedKey.Encoded

/** The fields of a new API key. */
export type CreateConsoleKey = typeof Wire.CreateKey.Encoded

/** The fields of an API key to set. */
export type UpdateConsoleKey = typeof Wire.UpdateKey.Encoded

/** A secret without its value. */
export type ConsoleSecret = typeof Secret.Secret.Encoded

/** A secret, and the workflows that name it. */
export type ListedConsoleSecret = typeof Secret.ListedSecret.Encoded

/** Value and hosts of a secret. */
export type SetConsoleSecret = typeof Secret.SetSecret.Encoded

/** An account. */
export type ConsoleAccount = typeof Wire.Account.Encoded

/** Where to send a test event, and with which headers. */
export type ConsoleTestEvent = typeof Webhook.TestEvent.Encoded

/** Balance and grants of an account. */
export type ConsoleCredits = typeof Credits.AccountCredits.Encoded

/** Credits for an account; who grants them, and why. */
export type CreateConsoleGrant = typeof Credits.CreateGrant.Encoded

/** A grant, and what is left of it. */
export type ConsoleGrant = ConsoleCredits["grants"][number]

/** Lines of an account's ledger, newest first. */
export type ConsoleStatement = typeof Credits.Statement.Encoded

/** How many accounts were read, and what does not add up. */
export type ConsoleAudit = typeof Credits.AuditReport.Encoded

/** A run that has lost processes while one of its nodes was in progress. */
export type ConsoleQuarantinedRun = typeof Quarantine.QuarantinedRun.Encoded

/** A version of a node type, and where nodes of it are. */
export type ConsoleTypeInUse = typeof NodeTypes.TypeInUse.Encoded

/** All operations of a console. A role that may not do something rejects with `FORBIDDEN`. */
export interface ConsoleClient extends Client {
  readonly session: {
    /** Who is signed in. Rejects with `SESSION_REFUSED` if nobody is. */
    get(options?: CallOptions): Promise<SessionItem>
    /** The same without an error if nobody is: then the session is `null`. */
    find(options?: CallOptions): Promise<SignedIn>
    /** Signs in; the answer sets a cookie. Rejects with `TICKET_REFUSED` or `TOKEN_REFUSED`. */
    signIn(by: SignIn, options?: CallOptions): Promise<SessionItem>
    signOut(options?: CallOptions): Promise<void>
  }
  /** The API keys of the account. For owners. */
  readonly keys: {
    list(options?: CallOptions): Promise<ReadonlyArray<ConsoleKey>>
    create(key: CreateConsoleKey, options?: CallOptions): Promise<CreatedConsoleKey>
    update(id: string, change: UpdateConsoleKey, options?: CallOptions): Promise<ConsoleKey>
    revoke(id: string, options?: CallOptions): Promise<ConsoleKey>
  }
  /** The secrets of the account. For owners. */
  readonly secrets: {
    list(options?: CallOptions): Promise<ReadonlyArray<ListedConsoleSecret>>
    put(name: string, secret: SetConsoleSecret, options?: CallOptions): Promise<ConsoleSecret>
    remove(name: string, options?: CallOptions): Promise<ListedConsoleSecret>
  }
  /** The sessions of the account. For owners. */
  readonly sessions: {
    list(options?: CallOptions): Promise<ReadonlyArray<SessionItem>>
    create(session: CreateSession, options?: CallOptions): Promise<CreatedSession>
    revoke(id: string, options?: CallOptions): Promise<void>
  }
  /** Test events. For editors who see all workflows. */
  readonly testEvents: {
    /** Sends a signed event of type `webhook.test`. Rejects with `INVALID_WEBHOOK`. */
    send(event: ConsoleTestEvent, options?: CallOptions): Promise<DeliveryItem>
  }
  /** All accounts. For operators. */
  readonly accounts: {
    list(options?: CallOptions): Promise<ReadonlyArray<ConsoleAccount>>
  }
  /** The credits of an account. For operators. */
  readonly credits: {
    show(accountId: string, options?: CallOptions): Promise<ConsoleCredits>
    /** Grants credits; again under the same `id`, nothing more. */
    grant(
      accountId: string,
      grant: CreateConsoleGrant,
      options?: CallOptions,
    ): Promise<ConsoleGrant>
    /** The newest lines of the ledger, or those before `before`. */
    statement(
      accountId: string,
      query?: { readonly before?: number; readonly limit?: number },
      options?: CallOptions,
    ): Promise<ConsoleStatement>
  }
  /** Reads every ledger, and names what does not add up. For operators. */
  audit(options?: CallOptions): Promise<ConsoleAudit>
  /**
   * Every version of a node type that the server has, or that any account uses. The store reads
   * every drawing for this. For operators.
   */
  typesInUse(options?: CallOptions): Promise<ReadonlyArray<ConsoleTypeInUse>>
  /** Runs in quarantine, of all accounts. For operators. */
  readonly quarantine: {
    list(options?: CallOptions): Promise<ReadonlyArray<ConsoleQuarantinedRun>>
    /** Forgets what the run has lost. Rejects with `NOT_IN_QUARANTINE`. */
    release(runId: string, options?: CallOptions): Promise<void>
    /** Fails the run. Rejects with `NOT_IN_QUARANTINE`. */
    end(runId: string, options?: CallOptions): Promise<void>
  }
}

const makeCalls = (transport: ConsoleTransport) => {
  const ask = makeAsk<ConsoleOperationName>(transport)
  const read = async <A>(...given: Parameters<typeof ask>) => (await ask(...given)).body as A
  const items = async <A>(name: ConsoleOperationName, options: CallOptions | undefined) =>
    (await read<{ readonly items: ReadonlyArray<A> }>(name, { options })).items
  return { read, items }
}

type OfOperators = "accounts" | "audit" | "credits" | "quarantine" | "typesInUse"

const makeOperators = (transport: ConsoleTransport): Pick<ConsoleClient, OfOperators> => {
  const { items, read } = makeCalls(transport)
  return {
    accounts: { list: (options) => items("accounts.list", options) },
    credits: {
      show: (id, options) => read("credits.show", { id, options }),
      grant: (id, body, options) => read("credits.grant", { id, body, options }),
      statement: (id, query = {}, options) => read("credits.statement", { id, query, options }),
    },
    audit: (options) => read("audit.audit", { options }),
    typesInUse: (options) => items("types.list", options),
    quarantine: {
      list: (options) => items("quarantine.list", options),
      release: (id, options) => read("quarantine.release", { id, options }),
      end: (id, options) => read("quarantine.end", { id, options }),
    },
  }
}

const makeOwn = (transport: ConsoleTransport): Omit<ConsoleClient, keyof Client | OfOperators> => {
  const { items, read } = makeCalls(transport)
  return {
    session: {
      get: (options) => read("session.get", { options }),
      find: (options) => read("session.find", { options }),
      signIn: (body, options) => read("session.signIn", { body, options }),
      signOut: (options) => read("session.signOut", { options }),
    },
    keys: {
      list: (options) => items("keys.list", options),
      create: (body, options) => read("keys.create", { body, options }),
      update: (id, body, options) => read("keys.update", { id, body, options }),
      revoke: (id, options) => read("keys.revoke", { id, options }),
    },
    secrets: {
      list: (options) => items("secrets.list", options),
      put: (name, body, options) => read("secrets.put", { name, body, options }),
      remove: (name, options) => read("secrets.remove", { name, options }),
    },
    sessions: {
      list: (options) => items("sessions.list", options),
      create: (body, options) => read("sessions.create", { body, options }),
      revoke: (id, options) => read("sessions.revoke", { id, options }),
    },
    testEvents: { send: (body, options) => read("testEvents.send", { body, options }) },
  }
}

/**
 * Makes a client of a console. In a browser that has signed in, the cookie says who calls.
 *
 * ```ts
 * const client = createConsoleClient({ url: location.origin })
 * await client.session.signIn({ ticket })
 * for await (const run of client.runs.list()) console.log(run.status)
 * ```
 */
export const createConsoleClient = (options: ConsoleClientOptions): ConsoleClient => {
  const transport = consoleTransport(options)
  return { ...clientOver(transport), ...makeOwn(transport), ...makeOperators(transport) }
}
