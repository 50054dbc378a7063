-- Versions that are asked besides the one that a label names, and never answer a client.
CREATE TABLE label_shadows (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  object_id TEXT NOT NULL,
  alias TEXT NOT NULL,
  digest TEXT NOT NULL, -- the version that is asked
  present TEXT NOT NULL, -- the one that the label names
  share DOUBLE PRECISION NOT NULL, -- of the calls
  min_pairs BIGINT NOT NULL,
  scorer TEXT NOT NULL, -- a reference
  field TEXT, -- of its score; NULL if it has one number
  user_id TEXT NOT NULL, -- who asks
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  why_ended TEXT,
  is_replaced INTEGER NOT NULL, -- its pairs are removed, some at a time
  PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX label_shadows_of_label ON label_shadows (project_id, object_id, alias) WHERE is_replaced = 0;
CREATE INDEX label_shadows_replaced ON label_shadows (project_id, id) WHERE is_replaced = 1;

-- A call whose label has a shadow, and what came of asking the other version.
CREATE TABLE shadow_pairs (
  project_id TEXT NOT NULL,
  shadow_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  state TEXT NOT NULL, -- waiting, judged, skipped or failed
  reason TEXT,
  detail TEXT,
  request TEXT, -- JSON object: what the client asked, while the pair waits
  noted_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  held_by TEXT, -- the process that asks, until when
  held_until BIGINT NOT NULL,
  ended_at BIGINT,
  shadow_call_id TEXT,
  difference DOUBLE PRECISION, -- above 0 if the other version is better
  latency_ms DOUBLE PRECISION,
  tokens BIGINT,
  cost DOUBLE PRECISION,
  shadow_latency_ms DOUBLE PRECISION,
  shadow_tokens BIGINT,
  shadow_cost DOUBLE PRECISION,
  PRIMARY KEY (project_id, shadow_id, call_id)
);

CREATE INDEX shadow_pairs_waiting ON shadow_pairs (project_id, shadow_id, due_at) WHERE state = 'waiting';
