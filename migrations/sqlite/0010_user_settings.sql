-- What an operator sets for a user, such as limits. Users of HEDDLE_USERS have no row in users, but may have one here.
CREATE TABLE user_settings (
  user_name TEXT PRIMARY KEY,
  settings TEXT NOT NULL, -- JSON object
  changed_at BIGINT NOT NULL
) WITHOUT ROWID;
