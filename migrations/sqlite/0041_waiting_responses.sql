-- Responses that are answered while nobody waits for them. One that is answered is in "responses".
CREATE TABLE waiting_responses (
  user_name TEXT NOT NULL,
  id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  key_hash TEXT NOT NULL, -- of the key with which it is asked
  bytes BIGINT NOT NULL, -- of its texts
  status TEXT NOT NULL,
  error TEXT, -- JSON object: why it failed
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  expire_at BIGINT, -- of one that failed or was cancelled
  held_by TEXT, -- the process that asks it, until when
  held_until BIGINT NOT NULL,
  PRIMARY KEY (user_name, id)
);

CREATE INDEX waiting_responses_of_project ON waiting_responses (project_id, user_name, id);
CREATE INDEX waiting_responses_open ON waiting_responses (created_at, id, user_name, held_until) WHERE ended_at IS NULL;
CREATE INDEX waiting_responses_held ON waiting_responses (held_by, user_name, id) WHERE held_by IS NOT NULL;
CREATE INDEX waiting_responses_ended ON waiting_responses (user_name, ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX waiting_responses_expiring ON waiting_responses (expire_at) WHERE expire_at IS NOT NULL;

-- Apart, because they may be large: what is looked at often is not.
CREATE TABLE waiting_response_texts (
  user_name TEXT NOT NULL,
  id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  head TEXT NOT NULL, -- JSON object: the answer as long as it has no output
  headers TEXT NOT NULL, -- JSON object: where its call belongs
  prompt TEXT, -- JSON object: the prompt that it names
  body TEXT, -- JSON object: the request, until it has ended
  PRIMARY KEY (user_name, id)
);

CREATE INDEX waiting_response_texts_of_project ON waiting_response_texts (project_id, user_name, id);
