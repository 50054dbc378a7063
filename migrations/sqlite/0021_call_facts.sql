-- What lists and charts show of a call, read from its parts when they are written: see src/domain/call-facts.
ALTER TABLE calls ADD COLUMN op TEXT; -- op_name without the version, where it is short
ALTER TABLE calls ADD COLUMN asked_model TEXT;
ALTER TABLE calls ADD COLUMN input_preview TEXT;
ALTER TABLE calls ADD COLUMN status TEXT; -- of a call that has ended
ALTER TABLE calls ADD COLUMN model TEXT;
ALTER TABLE calls ADD COLUMN input_tokens BIGINT;
ALTER TABLE calls ADD COLUMN output_tokens BIGINT;
ALTER TABLE calls ADD COLUMN cache_read_tokens BIGINT;
ALTER TABLE calls ADD COLUMN cache_creation_tokens BIGINT;
ALTER TABLE calls ADD COLUMN first_token_us BIGINT;
ALTER TABLE calls ADD COLUMN output_preview TEXT;

-- Holds what is counted and added up, so that none of it looks at the rows, which carry what was asked and answered.
DROP INDEX calls_in_time;
CREATE INDEX calls_in_time ON calls (
  project_id, started_at, id, ended_at, expire_at, parent_id, status, op, model, asked_model, user_id, input_tokens,
  output_tokens, cache_read_tokens, cache_creation_tokens, first_token_us
) WHERE started_at IS NOT NULL AND deleted_at IS NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('calls', 'calls_in_time', '1000000 100000 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1');
ANALYZE sqlite_schema;

-- How far the calls that were there before have been read for it; no row when all have.
CREATE TABLE facts_backfill (
  id INTEGER PRIMARY KEY,
  at_project TEXT NOT NULL,
  at_call TEXT NOT NULL
);

INSERT INTO facts_backfill (id, at_project, at_call) SELECT 1, '', '' WHERE EXISTS (SELECT 1 FROM calls);
