-- The largest of the calls of each sum in the orders that lists are sorted by, with its id: see src/storage/sums/largest.ts.
-- Empty if none has a value; NULL in sums of servers that do not know it.
ALTER TABLE call_sums ADD COLUMN max_latency TEXT;
ALTER TABLE call_sums ADD COLUMN max_first_token TEXT;
ALTER TABLE call_sums ADD COLUMN max_input TEXT;
ALTER TABLE call_sums ADD COLUMN max_output TEXT;

INSERT INTO unsummed_projects (project_id, at)
  WITH RECURSIVE project (id) AS (
    SELECT min(project_id) FROM calls
    UNION ALL
    SELECT (SELECT min(project_id) FROM calls WHERE project_id > project.id) FROM project WHERE project.id IS NOT NULL
  ) SELECT id, -9000000000000000000 FROM project WHERE id IS NOT NULL
  ON CONFLICT (project_id) DO UPDATE SET at = excluded.at;
