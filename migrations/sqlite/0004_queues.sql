-- Queues of calls that people look at. A deleted queue keeps its items and what was done with them.
CREATE TABLE annotation_queues (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  scorer_refs TEXT NOT NULL, -- JSON list of references
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  PRIMARY KEY (project_id, id)
);

-- What is here of a call is how it was when it was added. `state` and `annotator` are those of the progress that was
-- written last, `finished_by` counts the annotators whose own state is completed or skipped.
CREATE TABLE annotation_queue_items (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  queue_id TEXT NOT NULL,
  position BIGINT NOT NULL, -- from 1, without gaps
  call_id TEXT NOT NULL,
  call_op_name TEXT NOT NULL,
  call_trace_id TEXT NOT NULL,
  call_started_at BIGINT NOT NULL,
  call_ended_at BIGINT,
  display_fields TEXT NOT NULL, -- JSON list of paths
  added_at BIGINT NOT NULL,
  added_by TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'unstarted' CHECK (state IN ('unstarted', 'in_progress', 'completed', 'skipped')),
  annotator TEXT,
  finished_by BIGINT NOT NULL DEFAULT 0,
  leased_by TEXT,
  leased_until BIGINT,
  PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX annotation_queue_items_in_order ON annotation_queue_items (project_id, queue_id, position);
CREATE UNIQUE INDEX annotation_queue_items_of_queue ON annotation_queue_items (project_id, queue_id, call_id);
CREATE INDEX annotation_queue_items_open ON annotation_queue_items (project_id, queue_id, finished_by, position, state);
CREATE INDEX annotation_queue_items_leased ON annotation_queue_items (project_id, queue_id, leased_by) WHERE leased_by IS NOT NULL;
CREATE INDEX annotation_queue_items_of_call ON annotation_queue_items (project_id, call_id);

-- Each annotator has a state of its own for each item; without a row it is unstarted.
CREATE TABLE annotation_progress (
  project_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  annotator TEXT NOT NULL,
  queue_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('in_progress', 'completed', 'skipped')),
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, item_id, annotator)
);

CREATE INDEX annotation_progress_of_annotator ON annotation_progress (project_id, queue_id, annotator, state);
