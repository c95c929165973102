/**
 * The connection to a database, and the transactions of the stores.
 *
 * Guarantees: a write is one step; what it has written is stored as a whole or not at all, and its
 * answer comes after that. Writes that come in one turn of the event loop share a transaction, so
 * they wait for the disk once; one that fails is undone alone. Leaves out: SQL, and other
 * processes: the connection is the only one.
 */
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { writesPerTransaction } from "@millrace/core/domain/Limits"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Clock, Context, Effect } from "effect"
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"

/** A parameter of a statement. */
export type Value = SQLInputValue

/** A statement with its parameters. Each call executes it. */
export interface Query<Row> {
  /** The first row, if there is one. */
  readonly first: () => Row | undefined
  readonly all: () => ReadonlyArray<Row>
}

/** A write that waits for its transaction. */
interface Waiting {
  readonly run: () => void
  /** Called once, after the transaction. */
  readonly answer: () => void
  readonly fail: (cause: unknown) => void
}

/** A connection with its prepared statements. */
export class Connection {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  /** False: a write is committed at once, because there is no disk to wait for. */
  readonly #gathers: boolean
  #waiting: Array<Waiting> = []

  constructor(database: DatabaseSync, gathers: boolean) {
    this.#database = database
    this.#gathers = gathers
  }

  /** A statement that returns rows. */
  query<Row>(sql: string, ...parameters: ReadonlyArray<Value>): Query<Row> {
    const statement = this.#prepared(sql)
    return {
      first: () => statement.get(...parameters) as Row | undefined,
      all: () => statement.all(...parameters) as ReadonlyArray<unknown> as ReadonlyArray<Row>,
    }
  }

  /** Executes a statement; returns how many rows it has changed. */
  run(sql: string, ...parameters: ReadonlyArray<Value>): number {
    return Number(this.#prepared(sql).run(...parameters).changes)
  }

  /** Reads. A read is one step, because nothing else happens meanwhile. */
  read<A>(operation: string, step: (now: Timestamp) => A): Effect.Effect<A, StorageError> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.try({
        try: () => step(now),
        catch: (cause) => new StorageError({ operation, cause }),
      }),
    )
  }

  /** Writes, as one step. The step may throw; then it has written nothing. */
  write<A>(operation: string, step: (now: Timestamp) => A): Effect.Effect<A, StorageError> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.callback<A, StorageError>((resume) => {
        let answer: A
        this.#add({
          run: () => {
            answer = step(now)
          },
          answer: () => resume(Effect.succeed(answer)),
          fail: (cause) => resume(Effect.fail(new StorageError({ operation, cause }))),
        })
      }),
    )
  }

  /** Performs the writes that wait, and closes the connection. */
  close(): void {
    while (this.#waiting.length > 0) this.#flush()
    this.#statements.clear()
    this.#database.close()
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #add(write: Waiting): void {
    this.#waiting.push(write)
    if (!this.#gathers) this.#flush()
    else if (this.#waiting.length === 1) setImmediate(() => this.#flush())
  }

  /** Performs writes in one transaction, and answers them. */
  #flush(): void {
    const writes = this.#waiting.splice(0, writesPerTransaction)
    if (this.#waiting.length > 0) setImmediate(() => this.#flush())
    if (writes.length === 0) return
    const answers = this.#performed(writes)
    for (const answer of answers) answer()
  }

  /** What to tell the callers of these writes. */
  #performed(writes: ReadonlyArray<Waiting>): ReadonlyArray<() => void> {
    try {
      this.run("BEGIN IMMEDIATE")
      const answers = writes.map((write) => this.#performedAlone(write))
      this.run("COMMIT")
      return answers
    } catch (cause) {
      if (this.#database.isOpen && this.#database.isTransaction) this.run("ROLLBACK")
      return writes.map(
        ({ fail }) =>
          () =>
            fail(cause),
      )
    }
  }

  /** Performs one write. If it throws, only what it has written is undone. */
  #performedAlone({ answer, fail, run }: Waiting): () => void {
    this.run("SAVEPOINT write")
    try {
      run()
      this.run("RELEASE write")
      return answer
    } catch (cause) {
      // After some errors, such as a full disk, nothing is left of the transaction.
      if (!this.#database.isTransaction) throw cause
      this.run("ROLLBACK TO write")
      this.run("RELEASE write")
      return () => fail(cause)
    }
  }
}

/** The database of the stores. */
export class Database extends Context.Service<Database, Connection>()(
  "@millrace/sqlite/Database",
) {}
