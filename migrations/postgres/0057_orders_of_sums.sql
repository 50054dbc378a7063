-- The first of the calls of each sum in the other orders that lists are sorted by: see src/storage/sums/largest.ts. Sums also
-- know the largest id, and how many bytes their calls have.
ALTER TABLE call_sums
  ADD COLUMN min_latency TEXT COLLATE "C",
  ADD COLUMN min_output TEXT COLLATE "C",
  ADD COLUMN max_size TEXT COLLATE "C",
  ADD COLUMN min_size TEXT COLLATE "C",
  ADD COLUMN min_cost TEXT COLLATE "C",
  ADD COLUMN max_id TEXT COLLATE "C";

-- Sizes are added up and sorted by.
DROP INDEX calls_in_time;
CREATE INDEX calls_in_time ON calls (project_id, started_at, id)
  INCLUDE (ended_at, expire_at, deleted_at, parent_id, status, op, model, asked_model, user_id, input_tokens, output_tokens,
    cache_read_tokens, cache_creation_tokens, first_token_us, stated_cost, start_bytes, end_bytes)
  WHERE started_at IS NOT NULL AND deleted_at IS NULL;

INSERT INTO unsummed_projects (project_id, at)
  WITH RECURSIVE project (id) AS (
    SELECT min(project_id) FROM calls
    UNION ALL
    SELECT (SELECT min(project_id) FROM calls WHERE project_id > project.id) FROM project WHERE project.id IS NOT NULL
  ) SELECT id, -9000000000000000 FROM project WHERE id IS NOT NULL
  ON CONFLICT (project_id) DO UPDATE SET at = excluded.at;
