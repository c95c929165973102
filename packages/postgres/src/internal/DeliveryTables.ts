/**
 * The tables of deliveries, as statements for the migration.
 *
 * A body is written once. The part of a pending delivery that changes is in a narrow table of its
 * own, and is deleted when the delivery has ended. So claims and retries never rewrite a body, and
 * a search for due deliveries reads no ended ones. The attempt that delivered says so in its row;
 * only a failure is written beside the body. The statement that writes a run also writes its
 * deliveries, so there are no foreign keys.
 */

const id = `text COLLATE "C"`

export const deliveryTables: ReadonlyArray<string> = [
  // The columns from `begun` to `settled_at` say how the delivery ended, if it failed.
  `CREATE TABLE deliveries (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id ${id} NOT NULL UNIQUE,
    account_id ${id} NOT NULL,
    run_id ${id},
    sequence int4,
    type text NOT NULL,
    url text NOT NULL,
    origin ${id} NOT NULL,
    headers text,
    created_at int8 NOT NULL,
    begun int4 NOT NULL DEFAULT 0,
    fence int4 NOT NULL DEFAULT 0,
    trouble text CHECK (trouble = 'FAILED'),
    is_gone bool NOT NULL DEFAULT false,
    settled_at int8,
    body text NOT NULL
  ) WITH (fillfactor = 80)`,
  `CREATE INDEX deliveries_listing ON deliveries (created_at, id)`,
  `CREATE INDEX deliveries_of_run ON deliveries (run_id)`,
  `CREATE INDEX deliveries_in_trouble ON deliveries (created_at, id) WHERE trouble IS NOT NULL`,
  `CREATE INDEX deliveries_gone ON deliveries (run_id) WHERE is_gone`,
  // `claimed_at` and `held_until` say since when and until when a claim holds the delivery. A claim
  // changes no indexed column, so it writes only the row.
  `CREATE TABLE due_deliveries (
    id ${id} PRIMARY KEY,
    delivery int8 NOT NULL,
    account_id ${id} NOT NULL,
    run_id ${id},
    origin ${id} NOT NULL,
    due_at int8 NOT NULL,
    fence int4 NOT NULL,
    begun int4 NOT NULL,
    earlier int4 NOT NULL,
    claimed_at int8,
    held_until int8
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX due_deliveries_by_lane ON due_deliveries (account_id, origin, due_at, delivery)`,
  `CREATE TABLE delivery_attempts (
    delivery int8 NOT NULL,
    number int4 NOT NULL,
    at int8 NOT NULL,
    duration_millis int4,
    status int4,
    error text,
    answer text,
    next_at int8,
    -- Of the attempt that delivered: when that was stored, and the last fence.
    delivered_at int8,
    fence int4,
    PRIMARY KEY (delivery, number)
  )`,
  `CREATE TABLE webhook_secrets (
    id ${id} PRIMARY KEY,
    account_id ${id} NOT NULL,
    sealed text NOT NULL,
    created_at int8 NOT NULL,
    expires_at int8
  )`,
  `CREATE INDEX webhook_secrets_of_account ON webhook_secrets (account_id)`,
]
