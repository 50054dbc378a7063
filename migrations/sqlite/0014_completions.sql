-- Calls that are answers of this server, found by the ids of their completions, which may repeat.
CREATE TABLE completions (
  project_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  completion_id TEXT NOT NULL,
  kind TEXT NOT NULL, -- chat, text, response or message
  model TEXT NOT NULL,
  created_at BIGINT NOT NULL, -- when it was asked, as its call says
  metadata TEXT, -- JSON object
  PRIMARY KEY (project_id, call_id)
) WITHOUT ROWID;

CREATE INDEX completions_by_id ON completions (project_id, completion_id, created_at);
CREATE INDEX completions_in_time ON completions (project_id, kind, created_at, call_id);
