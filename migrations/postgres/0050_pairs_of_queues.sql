-- An item of a queue may be a pair of calls to compare.
ALTER TABLE annotation_queue_items ADD COLUMN other_call_id TEXT COLLATE "C"; -- the second call; NULL: one call is reviewed

-- A call may be in several pairs of a queue.
DROP INDEX annotation_queue_items_of_queue;
CREATE UNIQUE INDEX annotation_queue_items_of_queue
  ON annotation_queue_items (project_id, queue_id, call_id, coalesce(other_call_id, ''));
CREATE INDEX annotation_queue_items_of_other_call ON annotation_queue_items (project_id, other_call_id)
  WHERE other_call_id IS NOT NULL;
