-- Whether something below a root has failed is looked up here, without the calls of its trace.
CREATE INDEX calls_failed ON calls (project_id, trace_id)
  WHERE status = 'error' AND parent_id IS NOT NULL AND started_at IS NOT NULL AND deleted_at IS NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('calls', 'calls_failed', '10000 1000 1');
ANALYZE sqlite_schema;
