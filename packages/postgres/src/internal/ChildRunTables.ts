/**
 * The migrations for runs that other runs start.
 *
 * Guarantees: no row is rewritten. Runs without a parent have no entry in the index, so their
 * commits write nothing more.
 */
export const childRunTables: ReadonlyArray<string> = [
  `ALTER TABLE runs ADD COLUMN parent json, ADD COLUMN parent_id text COLLATE "C",
    ADD COLUMN child_credits int8 NOT NULL DEFAULT 0`,
  `CREATE INDEX runs_by_parent ON runs (parent_id, created_at, id) WHERE parent_id IS NOT NULL`,
]

/** An index of expressions: it has children that older servers store, too, and rewrites no row. */
export const childIndex: ReadonlyArray<string> = [
  `CREATE INDEX runs_of_node ON runs (
    parent_id, (parent ->> 'nodeId') COLLATE "C", ((parent ->> 'index')::int8)
  ) WHERE parent_id IS NOT NULL`,
]
