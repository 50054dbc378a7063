-- Trials whose results are owed: calls of theirs were written since they were derived. Each write has a mark of its own, so
-- that what is derived takes away what it has seen and nothing else.
CREATE TABLE eval_owed (
  project_id TEXT NOT NULL,
  trial_id TEXT NOT NULL,
  mark TEXT NOT NULL,
  PRIMARY KEY (project_id, trial_id, mark)
) WITHOUT ROWID;
