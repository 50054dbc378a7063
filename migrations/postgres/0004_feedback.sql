-- What people and programs say about a thing. The thing need not exist: clients send the feedback before the call.
CREATE TABLE feedback (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  feedback_type TEXT COLLATE "C" NOT NULL,
  svc_ref TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C", -- the call that svc_ref names, when it is one of this project
  user_id TEXT COLLATE "C" NOT NULL,
  creator TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  payload TEXT COLLATE "C" NOT NULL,
  annotation_ref TEXT COLLATE "C",
  runnable_ref TEXT COLLATE "C",
  call_ref TEXT COLLATE "C",
  trigger_ref TEXT COLLATE "C",
  queue_id TEXT COLLATE "C",
  PRIMARY KEY (project_id, id)
);

CREATE INDEX feedback_in_time ON feedback (project_id, created_at, id);
CREATE INDEX feedback_of_ref ON feedback (project_id, svc_ref);
CREATE INDEX feedback_of_call ON feedback (project_id, call_id, created_at, id) WHERE call_id IS NOT NULL;
