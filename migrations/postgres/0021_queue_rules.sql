-- Rules put calls into queues by themselves. A rule that is deleted leaves its items.
CREATE TABLE annotation_rules (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  queue_id TEXT COLLATE "C" NOT NULL,
  pick TEXT COLLATE "C" NOT NULL, -- JSON object: which of the calls, by its kind
  filter TEXT COLLATE "C" NOT NULL, -- JSON object: which calls at all
  display_fields TEXT COLLATE "C" NOT NULL, -- JSON list of paths
  paused BIGINT NOT NULL, -- 0 or 1
  counted BIGINT NOT NULL DEFAULT 0, -- calls, by a rule that picks every nth
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- Scores that a rule picks, of calls that have not ended yet.
CREATE TABLE annotation_rule_scores (
  project_id TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C" NOT NULL,
  rule_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, call_id, rule_id)
);

CREATE INDEX annotation_rule_scores_of_rule ON annotation_rule_scores (project_id, rule_id);

ALTER TABLE annotation_queue_items ADD COLUMN rule_id TEXT COLLATE "C"; -- NULL: a person added it
