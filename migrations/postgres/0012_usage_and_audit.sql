-- What each user asked for on each day, of UTC.
CREATE TABLE usage_days (
  user_name TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL, -- 2026-11-22
  requests BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  prompt_tokens BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  PRIMARY KEY (user_name, day)
);

CREATE INDEX usage_in_time ON usage_days (day, user_name);

-- What was done with users, keys, settings, and deletes. It only grows.
CREATE TABLE audit (
  id TEXT COLLATE "C" PRIMARY KEY, -- in the order of time
  at BIGINT NOT NULL,
  via TEXT COLLATE "C", -- http, command line, start
  actor TEXT COLLATE "C", -- a user of Heddle, or of the operating system
  action TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C",
  count BIGINT,
  details TEXT COLLATE "C" NOT NULL -- JSON object
);

CREATE FUNCTION heddle_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is not changed';
END;
$$;

CREATE TRIGGER audit_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION heddle_audit_only_grows();
