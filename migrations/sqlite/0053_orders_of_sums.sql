-- The first of the calls of each sum in the other orders that lists are sorted by: see src/storage/sums/largest.ts. Sums also
-- know the largest id, and how many bytes their calls have.
ALTER TABLE call_sums ADD COLUMN min_latency TEXT;
ALTER TABLE call_sums ADD COLUMN min_output TEXT;
ALTER TABLE call_sums ADD COLUMN max_size TEXT;
ALTER TABLE call_sums ADD COLUMN min_size TEXT;
ALTER TABLE call_sums ADD COLUMN min_cost TEXT;
ALTER TABLE call_sums ADD COLUMN max_id TEXT;

-- Sizes are added up and sorted by.
DROP INDEX calls_in_time;
CREATE INDEX calls_in_time ON calls (
  project_id, started_at, id, ended_at, expire_at, parent_id, status, op, model, asked_model, user_id, input_tokens,
  output_tokens, cache_read_tokens, cache_creation_tokens, first_token_us, stated_cost, start_bytes, end_bytes
) WHERE started_at IS NOT NULL AND deleted_at IS NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('calls', 'calls_in_time', '1000000 100000 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1');
ANALYZE sqlite_schema;

DROP TRIGGER calls_summed_update;
CREATE TRIGGER calls_summed_update
AFTER UPDATE OF started_at, ended_at, deleted_at, parent_id, trace_id, op_name, op, model, asked_model, status, user_id,
  input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, stated_cost, first_token_us, agent, agent_version, operation,
  thread_id, turn_id, expire_at, attributes, summary, start_bytes, end_bytes ON calls
WHEN NEW.started_at IS NOT NULL AND (NEW.deleted_at IS NULL OR OLD.deleted_at IS NULL) AND NOT EXISTS (
  SELECT 1 FROM call_sum_marks WHERE project_id = NEW.project_id AND about = 'traces'
    AND at = NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000 AND mark = (SELECT turn FROM call_sum_turn))
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000, about.column1, turn
      FROM call_sum_turn CROSS JOIN (VALUES (''), ('traces')) AS about WHERE true ON CONFLICT DO NOTHING;
END;

INSERT INTO unsummed_projects (project_id, at)
  WITH RECURSIVE project (id) AS (
    SELECT min(project_id) FROM calls
    UNION ALL
    SELECT (SELECT min(project_id) FROM calls WHERE project_id > project.id) FROM project WHERE project.id IS NOT NULL
  ) SELECT id, -9000000000000000 FROM project WHERE id IS NOT NULL
  ON CONFLICT (project_id) DO UPDATE SET at = excluded.at;
