/** Counts the statements that stores send. */
import { Stores } from "@millrace/postgres"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Stores of their own over a client, and how many statements with this text they have sent. */
export const storesOver = Effect.fnUntraced(function* (client: SqlClient, counted: string) {
  let statements = 0
  const counting: SqlClient = new Proxy(client, {
    get: (sql, name) => {
      if (name === "withoutTransforms") return () => counting
      if (name !== "unsafe") return Reflect.get(sql, name) as unknown
      return (text: string, parameters?: ReadonlyArray<unknown>) => {
        if (text.includes(counted)) statements += 1
        return sql.unsafe(text, parameters)
      }
    },
  })
  const stores = yield* Layer.build(
    Layer.provide(Layer.fresh(Stores.layerStorage), Layer.succeed(SqlClient, counting)),
  )
  return { stores, count: () => statements }
})
