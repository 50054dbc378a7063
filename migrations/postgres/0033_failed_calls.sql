-- Whether something below a root has failed is looked up here, without the calls of its trace.
CREATE INDEX calls_failed ON calls (project_id, trace_id)
  WHERE status = 'error' AND parent_id IS NOT NULL AND started_at IS NOT NULL AND deleted_at IS NULL;
