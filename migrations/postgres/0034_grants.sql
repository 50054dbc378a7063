-- JSON list of {scope, role}. Null: the user has its role in all of its entities.
ALTER TABLE users ADD COLUMN grants TEXT;

-- To the minute.
ALTER TABLE api_keys ADD COLUMN last_used_at BIGINT;

-- A link with 32 random bytes, of which the hash is stored, makes one user with these grants.
CREATE TABLE invitations (
  id TEXT COLLATE "C" PRIMARY KEY,
  hash TEXT COLLATE "C" NOT NULL UNIQUE,
  grants TEXT NOT NULL, -- JSON list
  note TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  accepted_at BIGINT,
  accepted_by TEXT
);
