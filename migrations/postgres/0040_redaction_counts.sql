-- How often each kind of private text was replaced before it was stored.
CREATE TABLE redaction_counts (
  project_id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (project_id, kind)
);
