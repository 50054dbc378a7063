-- What an operator sets for a project, and how far its deletion is. Projects that nothing was set for have no row.
CREATE TABLE projects (
  project_id TEXT COLLATE "C" PRIMARY KEY,
  settings TEXT COLLATE "C" NOT NULL DEFAULT '{}', -- JSON object
  deletion TEXT COLLATE "C" -- JSON object, while everything of the project is being deleted
);

CREATE INDEX projects_in_deletion ON projects (project_id) WHERE deletion IS NOT NULL;

-- What is set for one key of a user.
ALTER TABLE api_keys ADD COLUMN settings TEXT COLLATE "C"; -- JSON object
