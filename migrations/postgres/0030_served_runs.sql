-- Evaluation runs that the server carries out by itself. A row goes when its run has ended.
CREATE TABLE served_runs (
  project_id TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  runs_as TEXT NOT NULL,
  plan TEXT NOT NULL, -- JSON: what the rows of which table are asked, and which scorers score
  trials BIGINT NOT NULL,
  position BIGINT NOT NULL, -- every trial before it is over
  stopped BIGINT NOT NULL,
  held_by TEXT,
  held_until BIGINT NOT NULL,
  turn_at BIGINT NOT NULL, -- runs take turns: the one that waits longest is next
  PRIMARY KEY (project_id, run_id)
);
