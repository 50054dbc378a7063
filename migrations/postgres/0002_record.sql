-- Text compares by code point, as in SQLite.

CREATE TABLE users (
  name TEXT COLLATE "C" PRIMARY KEY,
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('member', 'admin')),
  entities TEXT COLLATE "C" NOT NULL, -- JSON list; "*" stands for all
  created_at BIGINT NOT NULL
);

-- The key itself is never stored: 32 random bytes need no slow hash.
CREATE TABLE api_keys (
  id TEXT COLLATE "C" PRIMARY KEY,
  user_name TEXT COLLATE "C" NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  hash TEXT COLLATE "C" NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  revoked_at BIGINT
);

CREATE INDEX api_keys_of_user ON api_keys (user_name);

-- A call is started and ended in any order, so nothing beyond its key is required. Times are microseconds since 1970.
-- JSON columns hold the tokens as they were sent, without the space between them.
CREATE TABLE calls (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  trace_id TEXT COLLATE "C",
  parent_id TEXT COLLATE "C",
  thread_id TEXT COLLATE "C",
  turn_id TEXT COLLATE "C",
  op_name TEXT COLLATE "C",
  display_name TEXT COLLATE "C",
  started_at BIGINT,
  ended_at BIGINT,
  exception TEXT COLLATE "C",
  user_id TEXT COLLATE "C",
  run_id TEXT COLLATE "C",
  run_step BIGINT,
  run_step_end BIGINT,
  expire_at BIGINT,
  deleted_at BIGINT,
  swept_at BIGINT,
  start_bytes BIGINT NOT NULL DEFAULT 0,
  end_bytes BIGINT NOT NULL DEFAULT 0,
  attributes TEXT COLLATE "C",
  inputs TEXT COLLATE "C",
  output TEXT COLLATE "C",
  summary TEXT COLLATE "C",
  PRIMARY KEY (project_id, id)
);

CREATE INDEX calls_in_time ON calls (project_id, started_at, id);
CREATE INDEX calls_of_trace ON calls (project_id, trace_id);
CREATE INDEX calls_of_parent ON calls (project_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX calls_of_thread ON calls (project_id, thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX calls_expiring ON calls (expire_at) WHERE expire_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX calls_to_sweep ON calls (deleted_at) WHERE deleted_at IS NOT NULL AND swept_at IS NULL;
CREATE INDEX calls_swept ON calls (swept_at) WHERE swept_at IS NOT NULL;

CREATE TABLE prices (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  llm_id TEXT COLLATE "C" NOT NULL,
  provider_id TEXT COLLATE "C" NOT NULL,
  effective_date BIGINT NOT NULL,
  prompt_token_cost DOUBLE PRECISION NOT NULL,
  completion_token_cost DOUBLE PRECISION NOT NULL,
  cache_read_input_token_cost DOUBLE PRECISION NOT NULL,
  cache_creation_input_token_cost DOUBLE PRECISION NOT NULL,
  prompt_token_cost_unit TEXT COLLATE "C" NOT NULL,
  completion_token_cost_unit TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX prices_of_model ON prices (project_id, llm_id, effective_date);

-- One row that GET /ready rewrites: proof that the store takes writes.
CREATE TABLE heddle_probe (
  id INTEGER PRIMARY KEY,
  at BIGINT NOT NULL
);
