-- What users with limits have spent, as all servers on this record count it together.
CREATE TABLE spending (
  user_name TEXT PRIMARY KEY,
  requests REAL NOT NULL,
  tokens REAL NOT NULL,
  at BIGINT NOT NULL -- when these amounts were right: they come back evenly
) WITHOUT ROWID;

-- The requests of a user that a server is answering. What is not renewed is of a server that has ended.
CREATE TABLE spending_running (
  user_name TEXT NOT NULL,
  holder TEXT NOT NULL,
  running BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (user_name, holder)
) WITHOUT ROWID;
