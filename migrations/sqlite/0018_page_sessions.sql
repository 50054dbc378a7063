-- Who is signed in to the page. A session is a cookie and a half that the page holds; both are kept as hashes.
CREATE TABLE page_sessions (
  hash TEXT PRIMARY KEY, -- of the cookie
  half_hash TEXT NOT NULL,
  key_hash TEXT NOT NULL, -- the key that the session stands for
  expires_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE INDEX page_sessions_of_key ON page_sessions (key_hash, expires_at);
CREATE INDEX page_sessions_expiring ON page_sessions (expires_at);
