-- Where a call was before it became another call or another's child: the parent, or the empty text. What is derived from calls
-- follows it.
ALTER TABLE calls ADD COLUMN moved_from TEXT;

CREATE INDEX calls_moved ON calls (project_id, id) WHERE moved_from IS NOT NULL;

-- What evaluation results are read from, derived from the calls in the transaction that writes them. A trial is here as
-- long as its call is.
CREATE TABLE eval_trials (
  project_id TEXT NOT NULL,
  trial_id TEXT NOT NULL,
  evaluation_id TEXT NOT NULL,
  row_digest TEXT NOT NULL, -- empty until the trial is derived for the first time
  row_kind INTEGER NOT NULL, -- 0 no example, 1 an object or a list, 2 a reference to a dataset row, 3 anything else
  brief TEXT, -- the short members of the row as JSON, behind 1 when they are all of it and 0 when not; null is not known
  started_at BIGINT NOT NULL,
  stale_at BIGINT, -- when a call that the trial was made of expires
  output_key INTEGER NOT NULL, -- where the model's output stands: 0 nowhere, 1 output, 2 model_output
  failed INTEGER NOT NULL,
  predict_call_id TEXT,
  latency DOUBLE PRECISION,
  tokens BIGINT,
  own_latency DOUBLE PRECISION, -- without looking at the children, like own_tokens
  own_tokens BIGINT,
  scorer_call_ids TEXT NOT NULL, -- JSON object by the key of the scores
  scores TEXT NOT NULL, -- JSON object, with what arrived late
  shape INTEGER NOT NULL, -- which scalars the scores hold: 0 none, -1 only the scores themselves say
  v0 NUMERIC, v1 NUMERIC, v2 NUMERIC, v3 NUMERIC, v4 NUMERIC, v5 NUMERIC, v6 NUMERIC, v7 NUMERIC,
  v8 NUMERIC, v9 NUMERIC, v10 NUMERIC, v11 NUMERIC, v12 NUMERIC, v13 NUMERIC, v14 NUMERIC, v15 NUMERIC,
  v16 NUMERIC, v17 NUMERIC, v18 NUMERIC, v19 NUMERIC, -- the scalars, in the order of the shape
  PRIMARY KEY (project_id, trial_id)
);

-- Holds what sorting, filtering and adding up read, so that none of them looks at the rows.
CREATE INDEX eval_trials_in_order ON eval_trials (
  project_id, evaluation_id, row_digest, started_at, trial_id, row_kind, brief, failed, shape, v0, v1, v2, v3, v4,
  v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19
);
CREATE INDEX eval_trials_stale_of_project ON eval_trials (project_id, stale_at) WHERE stale_at IS NOT NULL;
CREATE INDEX eval_trials_stale ON eval_trials (stale_at) WHERE stale_at IS NOT NULL;

-- The shapes that the scores of an evaluation have. The same leaves have the same number in all of a project.
CREATE TABLE eval_shapes (
  project_id TEXT NOT NULL,
  evaluation_id TEXT NOT NULL,
  shape INTEGER NOT NULL,
  digest TEXT NOT NULL, -- of the leaves
  leaves TEXT NOT NULL, -- JSON list of [kind, key, key, ...]: 0 a boolean, 1 a number, 2 a text
  PRIMARY KEY (project_id, evaluation_id, shape)
) WITHOUT ROWID;

CREATE INDEX eval_shapes_by_digest ON eval_shapes (project_id, digest, evaluation_id, shape);

-- How many rows an evaluation has, and which: evaluations with the same sum have the same rows.
CREATE TABLE eval_row_sets (
  project_id TEXT NOT NULL,
  evaluation_id TEXT NOT NULL,
  row_count BIGINT NOT NULL,
  row_sum TEXT NOT NULL,
  PRIMARY KEY (project_id, evaluation_id)
) WITHOUT ROWID;

-- Trials that were written before are derived when someone looks at them, or a few at a time.
INSERT INTO eval_trials (project_id, trial_id, evaluation_id, row_digest, row_kind, started_at, stale_at, output_key, failed,
    scorer_call_ids, scores, shape)
  SELECT project_id, id, parent_id, '', 0, 0, 0, 0, 0, '{}', '{}', 0 FROM calls
  WHERE op_name LIKE '%Evaluation.predict%' AND parent_id IS NOT NULL AND started_at IS NOT NULL AND deleted_at IS NULL;
