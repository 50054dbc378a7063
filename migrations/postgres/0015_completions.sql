-- Calls that are answers of this server, found by the ids of their completions, which may repeat.
CREATE TABLE completions (
  project_id TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C" NOT NULL,
  completion_id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL, -- chat, text, response or message
  model TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL, -- when it was asked, as its call says
  metadata TEXT COLLATE "C", -- JSON object
  PRIMARY KEY (project_id, call_id)
);

CREATE INDEX completions_by_id ON completions (project_id, completion_id, created_at);
CREATE INDEX completions_in_time ON completions (project_id, kind, created_at, call_id);
