-- What evaluation results are read from, derived from the calls in the transaction that writes them. A trial is here as
-- long as its call is.
CREATE TABLE eval_trials (
  project_id TEXT COLLATE "C" NOT NULL,
  trial_id TEXT COLLATE "C" NOT NULL,
  evaluation_id TEXT COLLATE "C" NOT NULL,
  row_digest TEXT COLLATE "C" NOT NULL,
  row_kind INTEGER NOT NULL, -- 0 no example, 1 an object or a list, 2 a reference to a dataset row, 3 anything else
  started_at BIGINT NOT NULL,
  stale_at BIGINT, -- when a call that the trial was made of expires
  output_key INTEGER NOT NULL, -- where the model's output stands: 0 nowhere, 1 output, 2 model_output
  failed INTEGER NOT NULL,
  predict_call_id TEXT COLLATE "C",
  latency DOUBLE PRECISION,
  tokens BIGINT,
  own_latency DOUBLE PRECISION, -- without looking at the children, like own_tokens
  own_tokens BIGINT,
  scorer_call_ids TEXT COLLATE "C" NOT NULL, -- JSON object by the key of the scores
  scores TEXT COLLATE "C" NOT NULL, -- JSON object, with what arrived late
  PRIMARY KEY (project_id, trial_id)
);

CREATE INDEX eval_trials_in_order ON eval_trials (project_id, evaluation_id, row_digest, started_at, trial_id);
CREATE INDEX eval_trials_stale_of_project ON eval_trials (project_id, stale_at) WHERE stale_at IS NOT NULL;
CREATE INDEX eval_trials_stale ON eval_trials (stale_at) WHERE stale_at IS NOT NULL;

-- Which trial a call belongs to, so that a part of it that says nothing of its parent finds the trial.
CREATE TABLE eval_children (
  project_id TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C" NOT NULL,
  trial_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, call_id)
);

CREATE INDEX eval_children_of_trial ON eval_children (project_id, trial_id);

-- The scalars in the scores. `path` is empty, or a dot and the keys joined with dots.
CREATE TABLE eval_leaves (
  project_id TEXT COLLATE "C" NOT NULL,
  evaluation_id TEXT COLLATE "C" NOT NULL,
  scorer TEXT COLLATE "C" NOT NULL,
  path TEXT COLLATE "C" NOT NULL,
  trial_id TEXT COLLATE "C" NOT NULL,
  position INTEGER NOT NULL,
  kind INTEGER NOT NULL, -- 0 a boolean, 1 a number, 2 a text
  number NUMERIC, -- of a boolean 1 or 0
  PRIMARY KEY (project_id, evaluation_id, scorer, path, trial_id, position)
);
