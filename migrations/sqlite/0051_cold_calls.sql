-- Files with the texts of old calls, in a folder or a bucket: see src/storage/cold.
CREATE TABLE cold_files (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL, -- writing, or ready: calls refer to it
  calls BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  from_at BIGINT NOT NULL, -- when the first of its calls began
  until_at BIGINT NOT NULL, -- and the last
  created_at BIGINT NOT NULL,
  call_ids TEXT NOT NULL, -- JSON list
  PRIMARY KEY (project_id, id)
) WITHOUT ROWID;
CREATE INDEX cold_files_writing ON cold_files (created_at) WHERE state = 'writing';

-- Calls that no longer refer to a file. While references to a file are being written it is marked with an empty id.
CREATE TABLE cold_marks (
  project_id TEXT NOT NULL,
  file_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  PRIMARY KEY (project_id, file_id, call_id)
) WITHOUT ROWID;

-- Who is named in inputs that are in the store: an erasure finds calls by it.
CREATE TABLE cold_users (
  project_id TEXT NOT NULL,
  end_user TEXT NOT NULL, -- a hash
  call_id TEXT NOT NULL,
  PRIMARY KEY (project_id, end_user, call_id)
) WITHOUT ROWID;
CREATE INDEX cold_users_calls ON cold_users (project_id, call_id);

-- Files that nothing refers to.
CREATE TABLE cold_removals (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT, -- NULL for one that was removed, and is removed again in case it was being written
  remove_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX cold_removals_due ON cold_removals (remove_at);
CREATE INDEX cold_removals_projects ON cold_removals (project_id);

-- The name of this record in the file heddle-owner of its store. No copy of the record has it.
CREATE TABLE cold_owner (
  id BIGINT NOT NULL PRIMARY KEY, -- always 1
  record TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER calls_inputs_warmed AFTER UPDATE OF inputs ON calls
WHEN substr(OLD.inputs, 1, 7) = ' "cold:' AND NEW.inputs IS NOT OLD.inputs
BEGIN
  INSERT INTO cold_marks (project_id, file_id, call_id) VALUES (OLD.project_id, substr(OLD.inputs, 8, 36), OLD.id)
    ON CONFLICT DO NOTHING;
  DELETE FROM cold_users WHERE project_id = OLD.project_id AND call_id = OLD.id;
END;

CREATE TRIGGER calls_output_warmed AFTER UPDATE OF output ON calls
WHEN substr(OLD.output, 1, 7) = ' "cold:' AND NEW.output IS NOT OLD.output
BEGIN
  INSERT INTO cold_marks (project_id, file_id, call_id) VALUES (OLD.project_id, substr(OLD.output, 8, 36), OLD.id)
    ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_cold_deleted AFTER DELETE ON calls
WHEN substr(OLD.inputs, 1, 7) = ' "cold:' OR substr(OLD.output, 1, 7) = ' "cold:'
BEGIN
  INSERT INTO cold_marks (project_id, file_id, call_id)
    SELECT OLD.project_id, substr(text, 8, 36), OLD.id FROM (SELECT OLD.inputs AS text UNION ALL SELECT OLD.output)
    WHERE substr(text, 1, 7) = ' "cold:'
    ON CONFLICT DO NOTHING;
  DELETE FROM cold_users WHERE project_id = OLD.project_id AND call_id = OLD.id;
END;

-- Which server moves calls now.
CREATE TABLE cold_turn (
  id BIGINT NOT NULL PRIMARY KEY, -- always 1
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
) WITHOUT ROWID;
