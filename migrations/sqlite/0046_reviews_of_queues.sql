-- How many people review an item of a queue, who they are, and who decides where they disagree.
ALTER TABLE annotation_queues ADD COLUMN annotators BIGINT NOT NULL DEFAULT 1;
ALTER TABLE annotation_queues ADD COLUMN reviewers TEXT NOT NULL DEFAULT '[]'; -- JSON list of users; empty is anyone
ALTER TABLE annotation_queues ADD COLUMN blind BIGINT NOT NULL DEFAULT 0; -- 0 or 1
ALTER TABLE annotation_queues ADD COLUMN adjudication TEXT NOT NULL DEFAULT 'none'; -- none, on_disagreement or always
ALTER TABLE annotation_queues ADD COLUMN adjudicators TEXT NOT NULL DEFAULT '[]'; -- JSON list of users
ALTER TABLE annotation_queues ADD COLUMN tolerance TEXT NOT NULL DEFAULT '{}'; -- JSON object: numbers by field

-- `finished_by` does not count adjudicators.
ALTER TABLE annotation_queue_items ADD COLUMN differs BIGINT; -- 0 or 1; NULL: fewer than two answers to compare
ALTER TABLE annotation_queue_items ADD COLUMN adjudicated_by TEXT; -- whose decision counts

ALTER TABLE annotation_progress ADD COLUMN adjudicates BIGINT NOT NULL DEFAULT 0; -- 1: as adjudicator of the item

CREATE INDEX annotation_queue_items_disputed ON annotation_queue_items (project_id, queue_id, position)
  WHERE differs = 1 AND adjudicated_by IS NULL;
