-- Files of OpenAI's wire, each of a user. Their bytes are the pieces of an upload.
CREATE TABLE wire_files (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  user_name TEXT COLLATE "C" NOT NULL,
  filename TEXT NOT NULL,
  purpose TEXT COLLATE "C" NOT NULL,
  upload_id TEXT COLLATE "C" NOT NULL,
  size BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX wire_files_of_user ON wire_files (user_name, id);
CREATE INDEX wire_files_expiring ON wire_files (expires_at) WHERE expires_at IS NOT NULL;

-- Requests that are answered one after the other while nobody waits.
CREATE TABLE batches (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  user_name TEXT COLLATE "C" NOT NULL,
  key_hash TEXT COLLATE "C" NOT NULL, -- of the key with which its lines are asked
  endpoint TEXT NOT NULL,
  input_file_id TEXT NOT NULL,
  metadata TEXT, -- JSON object
  output_seconds BIGINT NOT NULL, -- how long the files with its answers are kept
  status TEXT COLLATE "C" NOT NULL,
  errors TEXT, -- JSON list: why its input was refused
  model TEXT, -- of the first answer
  total BIGINT NOT NULL,
  completed BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  cached_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  reasoning_tokens BIGINT NOT NULL,
  output_file_id TEXT,
  error_file_id TEXT,
  created_at BIGINT NOT NULL,
  in_progress_at BIGINT,
  expires_at BIGINT NOT NULL,
  finalizing_at BIGINT,
  cancelling_at BIGINT,
  ended_at BIGINT,
  is_open INTEGER NOT NULL, -- whether a server still has to do something about it
  held_by TEXT, -- the process that does, until when
  held_until BIGINT NOT NULL,
  turn_at BIGINT NOT NULL, -- batches take turns: the one that waits longest is next
  PRIMARY KEY (project_id, id)
);

CREATE INDEX batches_of_user ON batches (user_name, id);
CREATE INDEX batches_open ON batches (held_until) WHERE is_open = 1;

CREATE TABLE batch_lines (
  project_id TEXT COLLATE "C" NOT NULL,
  batch_id TEXT COLLATE "C" NOT NULL,
  line BIGINT NOT NULL, -- of the input, from 1
  custom_id TEXT NOT NULL,
  at BIGINT NOT NULL, -- where it begins in the input, in bytes, and how long it is
  length BIGINT NOT NULL,
  status BIGINT, -- of its answer; NULL until it is answered
  answer TEXT, -- JSON: its line of the output
  PRIMARY KEY (project_id, batch_id, line)
);

CREATE INDEX batch_lines_waiting ON batch_lines (project_id, batch_id, line) WHERE status IS NULL;
