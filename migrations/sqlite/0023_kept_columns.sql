-- Changes with every trial of the evaluation that is derived, and which of these versions the columns were made of.
ALTER TABLE eval_row_sets ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE eval_row_sets ADD COLUMN kept_as TEXT;

CREATE INDEX eval_row_sets_to_keep ON eval_row_sets (project_id, evaluation_id)
  WHERE row_count >= 200 AND (kept_as IS NULL OR kept_as <> version);

-- The trials of an evaluation packed by what sorting, filtering and adding up read: see src/domain/evaluations/columns.
CREATE TABLE eval_columns (
  project_id TEXT NOT NULL,
  evaluation_id TEXT NOT NULL,
  version TEXT NOT NULL,
  name TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (project_id, evaluation_id, version, name)
);
