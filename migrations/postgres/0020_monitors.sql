-- What of a project is judged as it comes, and by which scorers.
CREATE TABLE monitors (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C" NOT NULL,
  scorers TEXT COLLATE "C" NOT NULL, -- JSON list of {name, ref, kind, fields}
  conditions TEXT COLLATE "C" NOT NULL, -- JSON object: which calls
  sampling_rate DOUBLE PRECISION NOT NULL,
  token_budget BIGINT, -- of a day of UTC
  active INTEGER NOT NULL,
  waits TEXT COLLATE "C", -- why its judges wait
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX monitors_active ON monitors (project_id) WHERE active = 1;

-- One call, one scorer of a monitor. It is noted in the transaction that writes the ended call, and stays as what became of it.
CREATE TABLE judgements (
  project_id TEXT COLLATE "C" NOT NULL,
  monitor_id TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C" NOT NULL,
  scorer TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL, -- judge, check
  run_id TEXT COLLATE "C" NOT NULL, -- of a run over old calls, or empty
  state TEXT COLLATE "C" NOT NULL, -- pending, judged, skipped, failed
  noted_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL, -- not before
  attempts INTEGER NOT NULL,
  reason TEXT COLLATE "C",
  detail TEXT COLLATE "C",
  ended_at BIGINT,
  tokens BIGINT NOT NULL,
  feedback_id TEXT COLLATE "C",
  taken_by TEXT COLLATE "C", -- the process that works on it, until when
  taken_until BIGINT,
  PRIMARY KEY (project_id, monitor_id, call_id, scorer)
);

CREATE INDEX judgements_pending ON judgements (project_id, monitor_id, kind, due_at) WHERE state = 'pending';
CREATE INDEX judgements_of_run ON judgements (project_id, run_id, state) WHERE run_id <> '';

-- Tokens that the judges of a monitor have used on a day of UTC.
CREATE TABLE monitor_days (
  project_id TEXT COLLATE "C" NOT NULL,
  monitor_id TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL, -- 2026-11-22
  tokens BIGINT NOT NULL,
  PRIMARY KEY (project_id, monitor_id, day)
);

-- A monitor that goes over calls that were there before.
CREATE TABLE monitor_runs (
  project_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  monitor_id TEXT COLLATE "C" NOT NULL,
  conditions TEXT COLLATE "C" NOT NULL, -- JSON object: which calls, beside those of the monitor
  sampling_rate DOUBLE PRECISION NOT NULL,
  most BIGINT, -- of calls
  state TEXT COLLATE "C" NOT NULL, -- looking, judging, done, cancelled
  before BIGINT NOT NULL, -- calls that started later are no old ones
  seen_at BIGINT, -- where it has come to: the start and the id of a call
  seen_id TEXT COLLATE "C",
  found BIGINT NOT NULL,
  counts TEXT COLLATE "C", -- JSON object: what became of them, when it is over
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  ended_at BIGINT,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX monitor_runs_going ON monitor_runs (project_id, id) WHERE state IN ('looking', 'judging');
CREATE INDEX monitor_runs_of_monitor ON monitor_runs (project_id, monitor_id, id);
