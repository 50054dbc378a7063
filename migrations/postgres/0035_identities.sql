-- Who of an identity provider is which user here.
CREATE TABLE identities (
  issuer TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  user_name TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (issuer, subject)
);

CREATE INDEX identities_of_user ON identities (user_name);

-- A session of an identity has an empty key_hash. The provider's sid and token end it there and here.
ALTER TABLE page_sessions ADD COLUMN issuer TEXT COLLATE "C";
ALTER TABLE page_sessions ADD COLUMN subject TEXT COLLATE "C";
ALTER TABLE page_sessions ADD COLUMN sid TEXT COLLATE "C";
ALTER TABLE page_sessions ADD COLUMN id_token TEXT;

CREATE INDEX page_sessions_of_identity ON page_sessions (issuer, subject) WHERE issuer IS NOT NULL;
CREATE INDEX page_sessions_of_sid ON page_sessions (issuer, sid) WHERE sid IS NOT NULL;

-- Logout tokens that were used, until they expire.
CREATE TABLE logout_tokens (
  hash TEXT COLLATE "C" PRIMARY KEY,
  expires_at BIGINT NOT NULL
);
