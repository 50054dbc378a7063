-- Versions of named values. A deleted version stays as a row without its value, so that its number is not given again.
CREATE TABLE objects (
  project_id TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  version_index BIGINT NOT NULL,
  recency BIGINT NOT NULL, -- grows with every create of the name; the live version with the greatest is the latest
  is_latest INTEGER NOT NULL,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('op', 'object')),
  base_object_class TEXT COLLATE "C",
  leaf_object_class TEXT COLLATE "C",
  val TEXT COLLATE "C",
  size BIGINT NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  deleted_at BIGINT,
  PRIMARY KEY (project_id, object_id, digest)
);

CREATE UNIQUE INDEX objects_by_version ON objects (project_id, object_id, version_index);
CREATE UNIQUE INDEX objects_latest ON objects (project_id, object_id) WHERE is_latest = 1;
CREATE INDEX objects_in_time ON objects (project_id, created_at, object_id, version_index);

CREATE TABLE object_aliases (
  project_id TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  alias TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, object_id, alias)
);

CREATE INDEX object_aliases_of_version ON object_aliases (project_id, object_id, digest);

CREATE TABLE object_tags (
  project_id TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, object_id, digest, tag)
);

-- Rows are kept once for all tables of a project.
CREATE TABLE table_rows (
  project_id TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  val TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, digest)
);

CREATE TABLE row_tables (
  project_id TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  row_count BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, digest)
);

-- The order of a table, duplicates included.
CREATE TABLE table_entries (
  project_id TEXT COLLATE "C" NOT NULL,
  table_digest TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  row_digest TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, table_digest, position)
);

-- A file is visible from the moment that it has a row here; its pieces come before it.
CREATE TABLE files (
  project_id TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  upload_id TEXT COLLATE "C" NOT NULL,
  size BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, digest)
);

CREATE TABLE file_uploads (
  project_id TEXT COLLATE "C" NOT NULL,
  upload_id TEXT COLLATE "C" NOT NULL,
  touched_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, upload_id)
);

CREATE INDEX file_uploads_in_time ON file_uploads (touched_at);

CREATE TABLE file_pieces (
  project_id TEXT COLLATE "C" NOT NULL,
  upload_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (project_id, upload_id, position)
);
