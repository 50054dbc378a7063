-- What calls can be found by, read from them behind the writes: see src/storage/search.
CREATE TABLE search_entries (
  project_id TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C" NOT NULL,
  doc BIGINT GENERATED ALWAYS AS IDENTITY, -- later calls have larger numbers
  words TSVECTOR NOT NULL, -- in lower case without accents, and one for the project
  PRIMARY KEY (project_id, call_id)
);

CREATE INDEX search_entries_by_word ON search_entries USING gin (words);

-- Calls that were written and not read for it since. Each write has marks of its own.
CREATE TABLE search_marks (
  project_id TEXT COLLATE "C" NOT NULL,
  mark TEXT COLLATE "C" NOT NULL,
  call_ids TEXT NOT NULL, -- JSON list
  PRIMARY KEY (project_id, mark)
);

CREATE TABLE search_state (
  id INTEGER PRIMARY KEY,
  is_on INTEGER NOT NULL,
  project_turn TEXT COLLATE "C" NOT NULL, -- whose marks were taken last
  at_project TEXT COLLATE "C", -- how far calls have been read that were there before; null when all have
  at_call TEXT COLLATE "C"
);

INSERT INTO search_state (id, is_on, project_turn, at_project, at_call)
  SELECT 1, 1, '', CASE WHEN EXISTS (SELECT 1 FROM calls) THEN '' END, CASE WHEN EXISTS (SELECT 1 FROM calls) THEN '' END;
