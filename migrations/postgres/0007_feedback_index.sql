-- In the order in which a thing's feedback is read, so that it is found and not picked out of all of the project's.
DROP INDEX feedback_of_ref;
CREATE INDEX feedback_of_ref ON feedback (project_id, svc_ref, created_at, id);

-- What a new version has to know of the others: the greatest recency, and the class of any.
CREATE INDEX objects_by_recency ON objects (project_id, object_id, recency) WHERE deleted_at IS NULL;
CREATE INDEX objects_with_class ON objects (project_id, object_id, base_object_class)
  WHERE deleted_at IS NULL AND base_object_class IS NOT NULL;

-- How many items of a queue an annotator has completed or skipped: who has finished all of them is told so at once.
CREATE TABLE annotation_finished (
  project_id TEXT COLLATE "C" NOT NULL,
  queue_id TEXT COLLATE "C" NOT NULL,
  annotator TEXT COLLATE "C" NOT NULL,
  items BIGINT NOT NULL,
  PRIMARY KEY (project_id, queue_id, annotator)
);

INSERT INTO annotation_finished (project_id, queue_id, annotator, items)
  SELECT project_id, queue_id, annotator, count(*) FROM annotation_progress
  WHERE state IN ('completed', 'skipped') GROUP BY project_id, queue_id, annotator;
