-- Rules put calls into queues by themselves. A rule that is deleted leaves its items.
CREATE TABLE annotation_rules (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  queue_id TEXT NOT NULL,
  pick TEXT NOT NULL, -- JSON object: which of the calls, by its kind
  filter TEXT NOT NULL, -- JSON object: which calls at all
  display_fields TEXT NOT NULL, -- JSON list of paths
  paused BIGINT NOT NULL, -- 0 or 1
  counted BIGINT NOT NULL DEFAULT 0, -- calls, by a rule that picks every nth
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
) WITHOUT ROWID;

-- Scores that a rule picks, of calls that have not ended yet.
CREATE TABLE annotation_rule_scores (
  project_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  rule_id TEXT NOT NULL,
  PRIMARY KEY (project_id, call_id, rule_id)
) WITHOUT ROWID;

CREATE INDEX annotation_rule_scores_of_rule ON annotation_rule_scores (project_id, rule_id);

ALTER TABLE annotation_queue_items ADD COLUMN rule_id TEXT; -- NULL: a person added it
