/**
 * The types of the built-in nodes: inputs, outputs and modes of each. Written by
 * `test/BuiltinSource.ts` from the catalogue, and compared with it by a test.
 *
 * Leaves out: outputs that a node's literals declare, which the builder reads off
 * the call.
 */
import type { Rule } from "@millrace/core/domain/Rule"
import type { Step } from "@millrace/nodes/Steps"
import type { BuiltinNetworkNodes, Plain } from "./BuiltinNetworkNode.ts"

/** A case of a switch node: the name of an output, and when it is taken. */
interface Case {
  readonly name: string
  readonly rule: Rule
}

/** The built-in nodes, by type. */
export interface BuiltinNodes extends BuiltinNetworkNodes {
  /** Hands the values that a run was started with to the graph. */
  readonly request: {
    readonly inputs: {
      /** The values that a run takes. Each field is also an output of this node. */
      readonly fields: ReadonlyArray<{
        readonly name: string
        readonly type?: "string" | "number" | "boolean" | "object" | "array" | "any"
        readonly required?: boolean
        readonly default?: unknown
        readonly description?: string
      }>
    }
    readonly outputs: {
      /** All values of the run. */
      readonly values: { readonly [key: string]: unknown }
    }
    readonly modes: never
    readonly raw: "fields"
    readonly multiple: never
  }
  /** Makes its input the output of the run. */
  readonly response: {
    readonly inputs: {
      /** What the run puts out. */
      readonly input: unknown
      /** Its name in the run's output, where there are several response nodes. */
      readonly name: string
    }
    readonly outputs: {}
    readonly modes: never
    readonly raw: "name"
    readonly multiple: never
  }
  /** Lets its input out on true or on false, as a rule says. */
  readonly condition: Plain & {
    readonly inputs: {
      /** What is judged and passed on. */
      readonly input: unknown
      /**
       * A rule: { "path": "user.age", "op": "greaterThan", "value": 17 }, or rules combined by {
       * "all": [...] }, { "any": [...] } and { "not": {...} }. Without a path the whole value is
       * meant.
       */
      readonly rule: Rule
    }
    readonly outputs: {
      /** The input, when the rule holds. */
      readonly true: unknown
      /** The input, when it does not. */
      readonly false: unknown
    }
  }
  /** Lets its input out on the port of the first case whose rule holds. */
  readonly switch: Plain & {
    readonly inputs: {
      /** What is judged and passed on. */
      readonly input: unknown
      /** The ways out in the order they are tried; the first whose rule holds is taken. */
      readonly cases: ReadonlyArray<Case>
    }
    readonly outputs: {
      /** The input, when no case matches. */
      readonly default: unknown
    }
  }
  /**
   * Brings several edges together: all values as an array, the first of them, or one object with
   * the keys of all.
   */
  readonly merge: {
    readonly inputs: {
      /** Any number of edges, in their order. */
      readonly inputs: ReadonlyArray<unknown>
    }
    readonly outputs: {
      /** The values together. */
      readonly output: unknown
    }
    readonly modes: "array" | "first" | "object"
    readonly raw: never
    readonly multiple: "inputs"
  }
  /** Waits for a while, or until a time, and passes its input on. */
  readonly delay: Plain & {
    readonly inputs: {
      /** What is passed on. */
      readonly input: unknown
      /** How long to wait: milliseconds, or text such as `10 minutes`; at most a year. */
      readonly for: number | string
      /** When to go on, as an ISO 8601 time; a time that has passed does not wait. */
      readonly until: string
    }
    readonly outputs: {
      /** The input, when the time has come. */
      readonly output: unknown
    }
  }
  /** Waits until a signal is sent to the run or its workflow, and puts out what it brings. */
  readonly wait_signal: Plain & {
    readonly inputs: {
      /** Signals of this name are taken; it is a part of the address to which they are sent. */
      readonly name: string
      /** What leaves on `timeout`; so that an edge can end here. */
      readonly input: unknown
      /**
       * Signals to the workflow with this correlation are taken, too, such as the number of an
       * order: whoever sends one need not know the run.
       */
      readonly correlation: string
      /**
       * A rule for the payload, as that of a condition. A signal that it refuses is left to
       * another node or run.
       */
      readonly filter: {
        readonly path?: string
        readonly op?:
          | "equals"
          | "notEquals"
          | "greaterThan"
          | "greaterOrEqual"
          | "lessThan"
          | "lessOrEqual"
          | "contains"
          | "startsWith"
          | "endsWith"
          | "in"
          | "exists"
          | "isEmpty"
        readonly value?: unknown
        readonly all?: ReadonlyArray<{ readonly [key: string]: unknown }>
        readonly any?: ReadonlyArray<{ readonly [key: string]: unknown }>
        readonly not?: { readonly [key: string]: unknown }
      }
      /** A JSON Schema of the payload. A signal that does not fit is refused. */
      readonly schema: { readonly [key: string]: unknown }
      /** How long to wait at most, as `for` of a delay; without it, until a signal comes. */
      readonly timeout: number | string
    }
    readonly outputs: {
      /** What the signal brought. */
      readonly payload: unknown
      /** The input, when the time is over and no signal has come. */
      readonly timeout: unknown
    }
  }
  /**
   * Waits until a person approves or rejects: by a link in a mail, signed in, or through your own
   * product.
   */
  readonly approval: Plain & {
    readonly inputs: {
      /** What is asked, in one line; the subject of the mail. */
      readonly title: string
      /** What the person should know, as plain text. */
      readonly description: string
      /**
       * A form: each field has a name, a type (text, number, boolean, select), and perhaps a
       * label, required, and options.
       */
      readonly fields: ReadonlyArray<{
        readonly name: string
        readonly label?: string
        readonly type: "text" | "number" | "boolean" | "select"
        readonly required?: boolean
        readonly options?: ReadonlyArray<string>
      }>
      /** Addresses of e-mail, each of which gets a link of its own. */
      readonly approvers: string | ReadonlyArray<string>
      /** Who has signed in with one of these roles, or more, may decide. */
      readonly roles: ReadonlyArray<"viewer" | "editor" | "owner">
      /** Nothing; so that an edge can end here. */
      readonly input: unknown
      /** When it expires, as `for` of a delay; without it, it waits until somebody decides. */
      readonly timeout: number | string
      /** How often who is asked gets the mail again; at least a minute. Absent: never. */
      readonly reminder: number | string
      /** False: who is asked cannot pass it on to another address. By default true. */
      readonly delegation: boolean
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
      /** For all of it, with connecting. By default 30. */
      readonly timeoutSeconds: number
      /** An address. */
      readonly from: string
    }
    readonly outputs: {
      /** The decision, if approved. */
      readonly approved: {
        readonly outcome: "approved" | "rejected"
        readonly by: string
        readonly via: "link" | "session" | "caller"
        readonly at: string
        readonly comment: string | null
        readonly fields: { readonly [key: string]: unknown }
      }
      /** The decision, if rejected. */
      readonly rejected: {
        readonly outcome: "approved" | "rejected"
        readonly by: string
        readonly via: "link" | "session" | "caller"
        readonly at: string
        readonly comment: string | null
        readonly fields: { readonly [key: string]: unknown }
      }
      /** When nobody has decided in time. */
      readonly expired: { readonly outcome: "expired"; readonly at: string }
    }
  }
  /** Executes another workflow as a run of its own, and puts out its output. */
  readonly sub_workflow: Plain & {
    readonly inputs: {
      /**
       * The id of a workflow of the same account. One that is drawn here is executed as it was
       * when the run was started; one that is computed, as it is then.
       */
      readonly workflowId: string
      /**
       * `draft`, or the number of a published version. By default what a start takes: the
       * published version, or the draft where none is published.
       */
      readonly workflowVersion: "draft" | number
      /** Values for the Request node of that workflow. */
      readonly values: { readonly [key: string]: unknown }
    }
    readonly outputs: {
      /** The output of the child run. */
      readonly output: unknown
      /** The id of the child run. */
      readonly runId: string
    }
  }
  /**
   * Executes the nodes that lie in it, or a workflow, for every item of an array, and puts out all
   * results.
   */
  readonly for_each: Plain & {
    readonly inputs: {
      /** The items, at most 100000; without any, nothing runs. */
      readonly items: ReadonlyArray<unknown>
      /**
       * The id of a workflow of the same account. One that is drawn here is executed as it was
       * when the run was started; one that is computed, as it is then.
       */
      readonly workflowId: string
      /**
       * `draft`, or the number of a published version. By default what a start takes: the
       * published version, or the draft where none is published.
       */
      readonly workflowVersion: "draft" | number
      /** Values for the Request node of that workflow. */
      readonly values: { readonly [key: string]: unknown }
      /** The value of the Request node that is the item: `item`. */
      readonly itemAs: string
      /** The value that is the number of the item, from 0. */
      readonly indexAs: string
      /** How many items are worked on at the same time, 1 to 50: 5. */
      readonly concurrency: number
      /**
       * How many items are worked on together, 1 to 1000. The item is then an array of them, and
       * there is one result for each array.
       */
      readonly batch: number
      /**
       * `stop`: the first item that fails fails the node, and the others are canceled. `continue`:
       * its result is null. `drop`: it has no result.
       */
      readonly onError: "stop" | "continue" | "drop"
    }
    readonly outputs: {
      /**
       * The results, in the order of the items. Nothing, if they have more than 8388608 bytes
       * together: then read them by pages.
       */
      readonly results: ReadonlyArray<unknown>
      /** How many results there are. */
      readonly count: number
      /** The items that failed, the first 1000 of them. */
      readonly errors: ReadonlyArray<{
        readonly index: number
        readonly message: string
        readonly runId: string
      }>
      /** How many items failed. */
      readonly failed: number
    }
    readonly body: {
      /** The item, or an array of items. */
      readonly item: unknown
      /** The number of the item, or of the array, from 0. */
      readonly index: number
    }
  }
  /** Executes the nodes that lie in it again and again, until a rule holds. */
  readonly while: Plain & {
    readonly inputs: {
      /**
       * A rule: { "path": "user.age", "op": "greaterThan", "value": 17 }, or rules combined by {
       * "all": [...] }, { "any": [...] } and { "not": {...} }. Without a path the whole value is
       * meant.
       */
      readonly until: Rule
      /** What the first iteration begins with. */
      readonly input: unknown
      /**
       * How many iterations there may be, 1 to 10000: 100. The node fails if the rule does not
       * hold after them.
       */
      readonly maxIterations: number
    }
    readonly outputs: {
      /** The result of the last iteration. */
      readonly output: unknown
      /** How many there were. */
      readonly iterations: number
    }
    readonly body: {
      /** The result of the iteration before; for the first one, the input of the loop. */
      readonly last: unknown
      /** The number of the iteration, from 0. */
      readonly index: number
    }
  }
  /** Fails with a message, on purpose. */
  readonly fail: Plain & {
    readonly inputs: {
      /** What the failure says. By default "failed on purpose". */
      readonly message: string
      /** Anything: so that an edge can end here. */
      readonly input: unknown
    }
    readonly outputs: {}
  }
  /** Puts out a fixed value. */
  readonly constant: Plain & {
    readonly inputs: {
      /** Any JSON. */
      readonly value: unknown
    }
    readonly outputs: {
      /** The value. */
      readonly output: unknown
    }
  }
  /** Makes a new value by filling {{ paths }} into a template. */
  readonly transform: {
    readonly inputs: {
      /**
       * Any JSON. Texts may contain {{ input.user.name }}, {{ input.items[0].id }} or {{
       * values.name }}; a text that is only one such expression becomes the value itself. Two
       * braces are written {{ "{{" }}.
       */
      readonly template: unknown
      /** What {{ input }} stands for. */
      readonly input: unknown
    }
    readonly outputs: {
      /** The filled template. */
      readonly output: unknown
    }
    readonly modes: never
    readonly raw: "template"
    readonly multiple: never
  }
  /** Filters, sorts, groups, cuts, reshapes, counts or sums an array. */
  readonly list: Plain & {
    readonly inputs: {
      /** The array to work on. */
      readonly items: ReadonlyArray<unknown>
      /**
       * Steps in order, each an object with "op": filter { rule }, sort { by, order }, group { by,
       * sum, count }, take { n }, map { path }, flatten, distinct { by }, split { separator }; at
       * the end count, join { separator }, sum { path }, min { path }, max { path } or average {
       * path }.
       */
      readonly steps: ReadonlyArray<Step>
    }
    readonly outputs: {
      /** The array after all steps, or the value at the end. */
      readonly output: unknown
      /** How many items the last array had. */
      readonly count: number
    }
  }
  /**
   * Executes JavaScript: the body of a function that has inputs and input, and returns a value.
   * console.log writes to the node's log.
   */
  readonly code: {
    readonly inputs: {
      /** The body of a function. There is no clock, no randomness and no network. */
      readonly code: string
      /** What the code has as inputs: any JSON, with expressions. */
      readonly inputs: unknown
      /** What the code has as input: what an edge brings. */
      readonly input: unknown
    }
    readonly outputs: {
      /** What the code returns. */
      readonly output: unknown
    }
    readonly modes: never
    readonly raw: "code"
    readonly multiple: never
  }
  /** Makes values of a text: JSON, CSV or XML. */
  readonly parse: {
    readonly inputs: {
      /** The text. */
      readonly input: string
      /** CSV: the first row names the columns, and rows are records. By default true. */
      readonly header: boolean
      /** CSV: what stands between two fields. By default ",". */
      readonly delimiter: string
      /** XML: names of elements that are arrays, also single ones. */
      readonly arrays: ReadonlyArray<string>
    }
    readonly outputs: {
      /** The value, the rows, or the root element. */
      readonly output: unknown
    }
    readonly modes: "json" | "csv" | "xml"
    readonly raw: never
    readonly multiple: never
  }
  /** A text for people. It is never executed, and edges to and from it mean nothing. */
  readonly note: {
    readonly inputs: {
      /** What it says. */
      readonly text: string
    }
    readonly outputs: {}
    readonly modes: never
    readonly raw: "text"
    readonly multiple: never
  }
}
