/**
 * The migration for published versions of workflows.
 *
 * Guarantees: servers of the previous version continue. They start the draft of every workflow, and
 * a workflow that they delete takes its versions along.
 */

const id = `text COLLATE "C"`

export const workflowVersionTables: ReadonlyArray<string> = [
  `ALTER TABLE workflows
    ADD COLUMN published int4,
    ADD COLUMN newest_version int4 NOT NULL DEFAULT 0`,
  `CREATE TABLE workflow_versions (
    workflow_id ${id} NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
    number int4 NOT NULL,
    account_id ${id} NOT NULL,
    revision int4 NOT NULL,
    note text,
    published_at int8 NOT NULL,
    name text NOT NULL,
    description text,
    thumbnail_url text,
    nodes json NOT NULL,
    edges json NOT NULL,
    settings json NOT NULL,
    PRIMARY KEY (workflow_id, number)
  )`,
  `ALTER TABLE runs ADD COLUMN workflow_version int4`,
]
