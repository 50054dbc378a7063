-- The conversation that feedback is about: as with call_id, read from svc_ref where it names one of the project.
ALTER TABLE feedback ADD COLUMN thread_id TEXT COLLATE "C";
CREATE INDEX feedback_of_thread ON feedback (project_id, thread_id, created_at, id) WHERE thread_id IS NOT NULL;
