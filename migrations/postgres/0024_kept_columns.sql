-- Changes with every trial of the evaluation that is derived, and which of these versions the columns were made of.
ALTER TABLE eval_row_sets
  ADD COLUMN version TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN kept_as TEXT COLLATE "C";

CREATE INDEX eval_row_sets_to_keep ON eval_row_sets (project_id, evaluation_id)
  WHERE row_count >= 200 AND (kept_as IS NULL OR kept_as <> version);

-- The trials of an evaluation packed by what sorting, filtering and adding up read: see src/domain/evaluations/columns.
CREATE TABLE eval_columns (
  project_id TEXT COLLATE "C" NOT NULL,
  evaluation_id TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (project_id, evaluation_id, version, name)
);
