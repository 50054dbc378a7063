-- What of a project is worth a message. Rules over calls and scores are looked at by the writes, rules over windows by a tick.
CREATE TABLE alert_rules (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  watches TEXT NOT NULL, -- call, score, window
  condition TEXT NOT NULL, -- JSON object: filter, query, score, window
  severity TEXT NOT NULL, -- critical, error, warning, info
  cooldown BIGINT NOT NULL, -- seconds
  endpoints TEXT, -- JSON list of ids; NULL for all
  active INTEGER NOT NULL,
  fired_at BIGINT, -- of a rule with a cool-down: when it fired last, and what it has held back since
  suppressed BIGINT NOT NULL,
  firing INTEGER NOT NULL, -- of a window: whether the condition held when it was last decided
  checked_at BIGINT NOT NULL, -- the end of the last window that was decided
  taken_until BIGINT NOT NULL, -- until then a process decides the next one
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX alert_rules_of_windows ON alert_rules (taken_until) WHERE active = 1 AND watches = 'window';

-- Where messages go. The address and the secrets are sealed.
CREATE TABLE alert_endpoints (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  format TEXT NOT NULL, -- standard, slack, teams, pagerduty
  shown TEXT NOT NULL, -- the address without what may be secret in it
  sealed TEXT NOT NULL,
  types TEXT, -- JSON list of types of events; NULL for all
  active INTEGER NOT NULL,
  stopped TEXT, -- why the server has switched it off
  runs_as TEXT NOT NULL, -- the user with whose access messages are sent
  failures BIGINT NOT NULL, -- in a row, since when, and until when it rests
  failing_since BIGINT,
  rests_until BIGINT NOT NULL,
  taken_at BIGINT NOT NULL, -- when a process last began to send to it; 0 before the first time
  dropped BIGINT NOT NULL, -- deliveries given up because too many waited
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- Counts the changes of a project's rules and endpoints, so that writers know when to read them again.
CREATE TABLE alert_versions (
  project_id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL
);

-- The outbox: what has happened, written in the transaction in which it happened.
CREATE TABLE alert_events (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  rule_id TEXT NOT NULL, -- empty if no rule made it
  subject TEXT NOT NULL, -- what it is about; a rule fires once for each
  body TEXT NOT NULL, -- JSON, as it is sent
  created_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX alert_events_once ON alert_events (project_id, rule_id, subject);
CREATE INDEX alert_events_in_time ON alert_events (created_at);

CREATE TABLE alert_deliveries (
  project_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  state TEXT NOT NULL, -- pending, sent, dead
  tries BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  taken_by TEXT, -- the process that sends it, until when
  taken_until BIGINT NOT NULL,
  status BIGINT, -- of the last answer
  error TEXT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, endpoint_id, event_id)
) WITHOUT ROWID;

CREATE INDEX alert_deliveries_due ON alert_deliveries (project_id, endpoint_id, next_at) WHERE state = 'pending';
CREATE INDEX alert_deliveries_of_event ON alert_deliveries (project_id, event_id);
