-- What must hold before an alias of an object moves, and the versions that it named before.
CREATE TABLE label_gates (
  project_id TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  alias TEXT COLLATE "C" NOT NULL,
  gate TEXT, -- JSON; null if there is none
  former TEXT NOT NULL, -- JSON list of digests, the last one last
  user_id TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, object_id, alias)
);
