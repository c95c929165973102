/**
 * The types of the built-in nodes that call others: a part of `BuiltinNode.ts`, written with it.
 *
 * Leaves out: outputs that a node's literals declare, which the builder reads off
 * the call.
 */

/** A node without modes, whose inputs take one edge each and may have expressions. */
export interface Plain {
  readonly modes: never
  readonly raw: never
  readonly multiple: never
}

/** The built-in nodes that call others, by type. */
export interface BuiltinNetworkNodes {
  /**
   * Calls a public URL and puts out the answer; JSON is parsed. But for GET and HEAD, every
   * attempt has the same Idempotency-Key, unless the headers set one.
   */
  readonly http_request: {
    readonly inputs: {
      /** The address to call: http or https, and public. */
      readonly url: string
      /** How to ask. By default "GET". */
      readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD"
      /**
       * Who asks: { type: bearer, token }, { type: basic, username, password } or { type: header,
       * name, value }. Take tokens and passwords from secrets.
       */
      readonly auth:
        | { readonly type: "bearer"; readonly token: string }
        | { readonly type: "basic"; readonly username: string; readonly password: string }
        | { readonly type: "header"; readonly name: string; readonly value: string }
      /** Headers to send. Those that frame the request cannot be set. */
      readonly headers: { readonly [key: string]: string }
      /** Parameters to add to the URL. */
      readonly query: { readonly [key: string]: string | number | boolean }
      /** What to send; bodyType says how. GET and HEAD send nothing. */
      readonly body: unknown
      /**
       * auto: a text as it is, everything else as JSON. form, multipart: an object of fields; with
       * multipart, a file is { filename, content, type, encoding: text or base64 }. By default
       * "auto".
       */
      readonly bodyType: "auto" | "json" | "text" | "form" | "multipart"
      /**
       * How many redirects are followed. Another host gets no auth and no cookies. By default 5.
       */
      readonly redirects: number
      /**
       * Where the next page is: an expression over response, body and page (from 1), such as {{
       * body.next }}. The body is then an array of the pages' bodies.
       */
      readonly next: string
      /**
       * How many pages are called; the address of a further one is put out as next. By default 10.
       */
      readonly maxPages: number
      /** True: no status is a failure. By default false. */
      readonly acceptAnyStatus: boolean
      /** For the whole exchange; for each, where there are redirects. By default 30. */
      readonly timeoutSeconds: number
    }
    readonly outputs: {
      /** Status and headers; names of headers are in lower case. */
      readonly response: {
        readonly status: number
        readonly headers: { readonly [key: string]: string }
      }
      /** The answer's body; JSON is parsed. */
      readonly body: unknown
      /** The page after the last one that was called. */
      readonly next: string
    }
    readonly modes: never
    readonly raw: "next"
    readonly multiple: never
  }
  /**
   * Hands a message to an SMTP server, over TLS. If the server accepts only some recipients, the
   * others are in rejected; if it accepts none, the node fails.
   */
  readonly email: Plain & {
    readonly inputs: {
      /** The server: a name or an address, and public. */
      readonly host: string
      /** Its port: 587, 465, 25 or 2525. By default 587. */
      readonly port: number
      /**
       * starttls: TLS begins after a greeting; the default, but for port 465. implicit: at once.
       * off: without TLS, only in networks that the operator allows.
       */
      readonly tls: "starttls" | "implicit" | "off"
      /** Certificates that vouch for the server in the place of the public ones, as PEM. */
      readonly certificates: string
      /** Who signs in. Absent: nobody does. */
      readonly user: string
      /** The password; it may name a secret. */
      readonly password: string
      /** An address. */
      readonly from: string
      /** The recipients: one, or an array. */
      readonly to: string | ReadonlyArray<string>
      /** Who gets a copy. */
      readonly cc: string | ReadonlyArray<string>
      /** Who gets a copy that nobody else sees. */
      readonly bcc: string | ReadonlyArray<string>
      /** An address. */
      readonly replyTo: string
      /** The subject. */
      readonly subject: string
      /** The message as plain text. */
      readonly text: string
      /** The message as HTML. */
      readonly html: string
      /** For all of it, with connecting. By default 30. */
      readonly timeoutSeconds: number
    }
    readonly outputs: {
      /** The addresses that the server accepted. */
      readonly accepted: ReadonlyArray<string>
      /** The addresses that the server did not accept. */
      readonly rejected: ReadonlyArray<string>
      /** The Message-ID. */
      readonly messageId: string
    }
  }
  /**
   * Sends one SQL statement to a Postgres database and puts out its rows. In the mode read its
   * transaction cannot write; in the mode write it is committed. int8 and numeric are texts, json
   * is a value, times are ISO 8601 in UTC, bytea is base64.
   */
  readonly postgres_query: {
    readonly inputs: {
      /** The server: a name or an address, and public. */
      readonly host: string
      /** Its port. By default 5432. */
      readonly port: number
      /** The name of the database. */
      readonly database: string
      /** Who signs in. Give it no more rights than it needs. */
      readonly user: string
      /** The password; it may name a secret. */
      readonly password: string
      /**
       * verify: over TLS, and the server's certificate has to be good for its host. off: without
       * TLS, only in networks that the operator allows. By default "verify".
       */
      readonly tls: "verify" | "off"
      /** Certificates that vouch for the server in the place of the public ones, as PEM. */
      readonly certificates: string
      /** One SQL statement, with $1, $2 for parameters. No expression is computed in it. */
      readonly statement: string
      /** The values of $1, $2 and so on. By default []. */
      readonly parameters: ReadonlyArray<unknown>
      /** How many rows there may be; more fail the node. By default 1000. */
      readonly maxRows: number
      /** For all of it, with connecting. By default 30. */
      readonly timeoutSeconds: number
    }
    readonly outputs: {
      /** The rows, each an object by the names of its columns. */
      readonly rows: ReadonlyArray<{ readonly [key: string]: unknown }>
      /** How many rows the statement gave or changed; null if that is not told. */
      readonly count: number | null
    }
    readonly modes: "read" | "write"
    readonly raw: "statement"
    readonly multiple: never
  }
  /**
   * Asks a language model at an endpoint of the OpenAI form of chat completions. With a schema the
   * answer is JSON that fits it, or the node fails and may be tried again.
   */
  readonly llm: Plain & {
    readonly inputs: {
      /** The address of the model's interface, such as https://api.openai.com/v1. */
      readonly endpoint: string
      /** Sent as a bearer token; take it from a secret. */
      readonly apiKey: string
      /** The model's name. */
      readonly model: string
      /** What to ask, after the messages. */
      readonly prompt: string
      /** What was said before, each with a role and a content. */
      readonly messages: ReadonlyArray<{
        readonly role: "system" | "developer" | "user" | "assistant"
        readonly content: string
      }>
      /** A JSON Schema. The answer is then JSON that fits it, and comes out as value. */
      readonly schema: { readonly [key: string]: unknown }
      /** 0: always the likeliest word. Absent: what the model has by default. */
      readonly temperature: number
      /** How many tokens the answer may have. By default 1024. */
      readonly maxTokens: number
      /** For the whole call. By default 60. */
      readonly timeoutSeconds: number
    }
    readonly outputs: {
      /** The answer. */
      readonly text: string
      /** The answer as JSON, if there is a schema. */
      readonly value: unknown
      /** Why the answer ended: stop, or length where it is cut off. */
      readonly finish: string
      /** Tokens of the question and of the answer. */
      readonly usage: { readonly input: number; readonly output: number }
    }
  }
}
