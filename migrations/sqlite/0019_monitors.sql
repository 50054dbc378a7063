-- What of a project is judged as it comes, and by which scorers.
CREATE TABLE monitors (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  scorers TEXT NOT NULL, -- JSON list of {name, ref, kind, fields}
  conditions TEXT NOT NULL, -- JSON object: which calls
  sampling_rate DOUBLE PRECISION NOT NULL,
  token_budget BIGINT, -- of a day of UTC
  active INTEGER NOT NULL,
  waits TEXT, -- why its judges wait
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX monitors_active ON monitors (project_id) WHERE active = 1;

-- One call, one scorer of a monitor. It is noted in the transaction that writes the ended call, and stays as what became of it.
CREATE TABLE judgements (
  project_id TEXT NOT NULL,
  monitor_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  scorer TEXT NOT NULL,
  kind TEXT NOT NULL, -- judge, check
  run_id TEXT NOT NULL, -- of a run over old calls, or empty
  state TEXT NOT NULL, -- pending, judged, skipped, failed
  noted_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL, -- not before
  attempts INTEGER NOT NULL,
  reason TEXT,
  detail TEXT,
  ended_at BIGINT,
  tokens BIGINT NOT NULL,
  feedback_id TEXT,
  taken_by TEXT, -- the process that works on it, until when
  taken_until BIGINT,
  PRIMARY KEY (project_id, monitor_id, call_id, scorer)
) WITHOUT ROWID;

CREATE INDEX judgements_pending ON judgements (project_id, monitor_id, kind, due_at) WHERE state = 'pending';
CREATE INDEX judgements_of_run ON judgements (project_id, run_id, state) WHERE run_id <> '';

-- Tokens that the judges of a monitor have used on a day of UTC.
CREATE TABLE monitor_days (
  project_id TEXT NOT NULL,
  monitor_id TEXT NOT NULL,
  day TEXT NOT NULL, -- 2026-11-22
  tokens BIGINT NOT NULL,
  PRIMARY KEY (project_id, monitor_id, day)
) WITHOUT ROWID;

-- A monitor that goes over calls that were there before.
CREATE TABLE monitor_runs (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  monitor_id TEXT NOT NULL,
  conditions TEXT NOT NULL, -- JSON object: which calls, beside those of the monitor
  sampling_rate DOUBLE PRECISION NOT NULL,
  most BIGINT, -- of calls
  state TEXT NOT NULL, -- looking, judging, done, cancelled
  before BIGINT NOT NULL, -- calls that started later are no old ones
  seen_at BIGINT, -- where it has come to: the start and the id of a call
  seen_id TEXT,
  found BIGINT NOT NULL,
  counts TEXT, -- JSON object: what became of them, when it is over
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  ended_at BIGINT,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX monitor_runs_going ON monitor_runs (project_id, id) WHERE state IN ('looking', 'judging');
CREATE INDEX monitor_runs_of_monitor ON monitor_runs (project_id, monitor_id, id);
