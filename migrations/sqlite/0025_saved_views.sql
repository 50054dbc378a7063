-- What people have set up on a screen of the page and kept under a name.
CREATE TABLE saved_views (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  screen TEXT NOT NULL,
  name TEXT NOT NULL,
  search TEXT NOT NULL, -- what stands behind the question mark
  is_shared INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
);
