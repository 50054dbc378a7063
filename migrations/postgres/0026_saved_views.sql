-- What people have set up on a screen of the page and kept under a name.
CREATE TABLE saved_views (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  screen TEXT NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  search TEXT NOT NULL, -- what stands behind the question mark
  is_shared INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
);
