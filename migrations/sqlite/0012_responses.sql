-- Answers of the Responses API that may be read and continued. Each belongs to a user.
CREATE TABLE responses (
  user_name TEXT NOT NULL,
  id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expire_at BIGINT, -- NULL is never
  previous_id TEXT, -- the answer that this one continues
  bytes BIGINT NOT NULL, -- of its texts
  PRIMARY KEY (user_name, id)
) WITHOUT ROWID;

CREATE INDEX responses_expiring ON responses (expire_at) WHERE expire_at IS NOT NULL;

-- Apart, so that a later end of an answer does not write its texts again.
CREATE TABLE response_texts (
  user_name TEXT NOT NULL,
  id TEXT NOT NULL,
  input TEXT NOT NULL, -- JSON list of items
  output TEXT NOT NULL, -- JSON list of items
  answer TEXT NOT NULL, -- JSON object: the rest of the answer
  cuts TEXT NOT NULL, -- JSON list: the lengths of the deltas of its stream
  PRIMARY KEY (user_name, id)
);

-- Keys that processes on the same record share.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
