-- What an upgrade server by server has lost before. Calls that are still derived for the first time need no mark. Not in the
-- migration before, which locks the tables: this one reads all calls, while servers of an older version go on writing.
INSERT INTO underived_calls (project_id, call_id, mark)
  SELECT project_id, id, '' FROM calls
  WHERE started_at IS NOT NULL AND deleted_at IS NULL AND (op IS NULL OR (ended_at IS NOT NULL AND status IS NULL))
    AND NOT EXISTS (SELECT 1 FROM facts_backfill)
  ON CONFLICT DO NOTHING;
UPDATE facts_backfill SET at_project = '', at_call = '';
