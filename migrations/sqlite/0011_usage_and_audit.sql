-- What each user asked for on each day, of UTC.
CREATE TABLE usage_days (
  user_name TEXT NOT NULL,
  day TEXT NOT NULL, -- 2026-11-22
  requests BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  prompt_tokens BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  PRIMARY KEY (user_name, day)
) WITHOUT ROWID;

CREATE INDEX usage_in_time ON usage_days (day, user_name);

-- What was done with users, keys, settings, and deletes. It only grows.
CREATE TABLE audit (
  id TEXT PRIMARY KEY, -- in the order of time
  at BIGINT NOT NULL,
  via TEXT, -- http, command line, start
  actor TEXT, -- a user of Heddle, or of the operating system
  action TEXT NOT NULL,
  project_id TEXT,
  count BIGINT,
  details TEXT NOT NULL -- JSON object
);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
  SELECT RAISE(ABORT, 'the audit log is not changed');
END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN
  SELECT RAISE(ABORT, 'the audit log is not deleted');
END;

-- INSERT OR REPLACE deletes without its trigger.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'the audit log is not replaced');
END;
