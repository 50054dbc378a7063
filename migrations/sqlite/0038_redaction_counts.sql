-- How often each kind of private text was replaced before it was stored.
CREATE TABLE redaction_counts (
  project_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (project_id, kind)
);
