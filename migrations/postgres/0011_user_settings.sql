-- What an operator sets for a user, such as limits. Users of HEDDLE_USERS have no row in users, but may have one here.
CREATE TABLE user_settings (
  user_name TEXT COLLATE "C" PRIMARY KEY,
  settings TEXT COLLATE "C" NOT NULL, -- JSON object
  changed_at BIGINT NOT NULL
);
