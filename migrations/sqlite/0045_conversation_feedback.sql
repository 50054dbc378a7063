-- The conversation that feedback is about: as with call_id, read from svc_ref where it names one of the project.
ALTER TABLE feedback ADD COLUMN thread_id TEXT;
CREATE INDEX feedback_of_thread ON feedback (project_id, thread_id, created_at, id) WHERE thread_id IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('feedback', 'feedback_of_thread', '100000 10000 5 2 1');
ANALYZE sqlite_schema;
