-- What people and programs say about a thing. The thing need not exist: clients send the feedback before the call.
CREATE TABLE feedback (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  feedback_type TEXT NOT NULL,
  svc_ref TEXT NOT NULL,
  call_id TEXT, -- the call that svc_ref names, when it is one of this project
  user_id TEXT NOT NULL,
  creator TEXT,
  created_at BIGINT NOT NULL,
  payload TEXT NOT NULL,
  annotation_ref TEXT,
  runnable_ref TEXT,
  call_ref TEXT,
  trigger_ref TEXT,
  queue_id TEXT,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX feedback_in_time ON feedback (project_id, created_at, id);
CREATE INDEX feedback_of_ref ON feedback (project_id, svc_ref);
CREATE INDEX feedback_of_call ON feedback (project_id, call_id, created_at, id) WHERE call_id IS NOT NULL;
