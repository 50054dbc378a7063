-- What calls can be found by, read from them behind the writes: see src/storage/search.
CREATE TABLE search_entries (
  doc INTEGER PRIMARY KEY, -- later calls have larger numbers
  project_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  UNIQUE (project_id, call_id)
);

-- The words of an entry, by its number. They come in lower case without accents, with one space between two.
CREATE VIRTUAL TABLE search_words USING fts5 (
  project, words, content = '', contentless_delete = 1, tokenize = 'ascii'
);

-- Calls that were written and not read for it since. Each write has marks of its own.
CREATE TABLE search_marks (
  project_id TEXT NOT NULL,
  mark TEXT NOT NULL,
  call_ids TEXT NOT NULL, -- JSON list
  PRIMARY KEY (project_id, mark)
) WITHOUT ROWID;

CREATE TABLE search_state (
  id INTEGER PRIMARY KEY,
  is_on INTEGER NOT NULL,
  project_turn TEXT NOT NULL, -- whose marks were taken last
  at_project TEXT, -- how far calls have been read that were there before; null when all have
  at_call TEXT
);

INSERT INTO search_state (id, is_on, project_turn, at_project, at_call)
  SELECT 1, 1, '', CASE WHEN EXISTS (SELECT 1 FROM calls) THEN '' END, CASE WHEN EXISTS (SELECT 1 FROM calls) THEN '' END;
