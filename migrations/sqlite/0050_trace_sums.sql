-- What agents and conversations are sorted by, and lists show of agents, so that they do not read the calls: see
-- src/storage/trace-sums. The calls of an agent are those that name it and what runs below these.
CREATE TABLE agent_sums (
  project_id TEXT NOT NULL,
  span BIGINT NOT NULL, -- in microseconds: an hour or a day
  agent TEXT NOT NULL,
  at BIGINT NOT NULL, -- when the hour or day begins in which calls name the agent
  version TEXT NOT NULL,
  invocations DOUBLE PRECISION NOT NULL,
  calls DOUBLE PRECISION NOT NULL,
  errors DOUBLE PRECISION NOT NULL,
  input DOUBLE PRECISION NOT NULL,
  output DOUBLE PRECISION NOT NULL,
  cost DOUBLE PRECISION, -- by the prices of the project
  first_seen BIGINT NOT NULL,
  last_seen BIGINT NOT NULL,
  durations TEXT, -- microseconds, with commas between
  PRIMARY KEY (project_id, span, at, agent, version)
) WITHOUT ROWID;

CREATE TABLE thread_sums (
  project_id TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  failures BIGINT, -- NULL of conversations that are too long
  cost DOUBLE PRECISION,
  PRIMARY KEY (project_id, thread_id)
) WITHOUT ROWID;
CREATE INDEX thread_sums_by_failures ON thread_sums (project_id, failures DESC, thread_id);
CREATE INDEX thread_sums_by_cost ON thread_sums (project_id, cost DESC, thread_id) WHERE cost IS NOT NULL;

-- How often these sums were stored, and the hour up to which calls are marked that were there before, or before prices changed.
CREATE TABLE trace_sums_state (project_id TEXT PRIMARY KEY, stored BIGINT NOT NULL, at BIGINT) WITHOUT ROWID;
INSERT INTO trace_sums_state (project_id, stored, at)
  WITH RECURSIVE project (id) AS (
    SELECT min(project_id) FROM calls
    UNION ALL
    SELECT (SELECT min(project_id) FROM calls WHERE project_id > project.id) FROM project WHERE project.id IS NOT NULL
  ) SELECT id, 0, -9000000000000000 FROM project WHERE id IS NOT NULL;

-- The marks of hours about `traces` stand for the traces with calls in them. A call that goes away, or to another place, may have
-- been the only one there: then marks at 1 name its trace and conversation, and the traces that it has tied together.
DROP TRIGGER calls_summed_insert;
CREATE TRIGGER calls_summed_insert AFTER INSERT ON calls
WHEN NEW.started_at IS NOT NULL AND NEW.deleted_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM call_sum_marks WHERE project_id = NEW.project_id AND about = 'traces'
    AND at = NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000 AND mark = (SELECT turn FROM call_sum_turn))
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000, about.column1, turn
      FROM call_sum_turn CROSS JOIN (VALUES (''), ('traces')) AS about WHERE true ON CONFLICT DO NOTHING;
END;

DROP TRIGGER calls_summed_update;
CREATE TRIGGER calls_summed_update
AFTER UPDATE OF started_at, ended_at, deleted_at, parent_id, trace_id, op_name, op, model, asked_model, status, user_id,
  input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, first_token_us, agent, agent_version, operation,
  thread_id, turn_id, expire_at, attributes, summary ON calls
WHEN NEW.started_at IS NOT NULL AND (NEW.deleted_at IS NULL OR OLD.deleted_at IS NULL) AND NOT EXISTS (
  SELECT 1 FROM call_sum_marks WHERE project_id = NEW.project_id AND about = 'traces'
    AND at = NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000 AND mark = (SELECT turn FROM call_sum_turn))
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000, about.column1, turn
      FROM call_sum_turn CROSS JOIN (VALUES (''), ('traces')) AS about WHERE true ON CONFLICT DO NOTHING;
END;

DROP TRIGGER calls_summed_move;
CREATE TRIGGER calls_summed_move AFTER UPDATE OF started_at ON calls
WHEN OLD.started_at IS NOT NULL AND OLD.started_at IS NOT NEW.started_at AND OLD.deleted_at IS NULL
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, OLD.started_at - (OLD.started_at % 3600000000 + 3600000000) % 3600000000, about.column1, turn
      FROM call_sum_turn CROSS JOIN (VALUES (''), ('traces')) AS about WHERE true ON CONFLICT DO NOTHING;
END;

DROP TRIGGER calls_summed_delete;
CREATE TRIGGER calls_summed_delete AFTER DELETE ON calls WHEN OLD.started_at IS NOT NULL AND OLD.deleted_at IS NULL
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, OLD.started_at - (OLD.started_at % 3600000000 + 3600000000) % 3600000000, about.column1, turn
      FROM call_sum_turn CROSS JOIN (VALUES (''), ('traces')) AS about WHERE true ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_traces_update AFTER UPDATE OF deleted_at, trace_id, parent_id, thread_id, input_tokens, output_tokens ON calls
WHEN OLD.started_at IS NOT NULL AND (OLD.deleted_at IS NOT NULL OR NEW.deleted_at IS NOT NULL OR OLD.trace_id IS NOT NEW.trace_id
  OR OLD.parent_id IS NOT NEW.parent_id OR OLD.thread_id IS NOT NEW.thread_id)
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, 1, about, turn FROM call_sum_turn CROSS JOIN (
      SELECT 'trace:' || OLD.trace_id AS about UNION ALL SELECT 'thread:' || OLD.thread_id WHERE OLD.thread_id <> ''
      UNION ALL SELECT 'trace:' || trace_id FROM calls WHERE project_id = OLD.project_id AND id = OLD.parent_id
      UNION ALL SELECT 'trace:' || trace_id FROM calls WHERE project_id = OLD.project_id AND parent_id = OLD.id
    ) WHERE about IS NOT NULL ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_traces_delete AFTER DELETE ON calls WHEN OLD.started_at IS NOT NULL
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, 1, about, turn FROM call_sum_turn CROSS JOIN (
      SELECT 'trace:' || OLD.trace_id AS about UNION ALL SELECT 'thread:' || OLD.thread_id WHERE OLD.thread_id <> ''
      UNION ALL SELECT 'trace:' || trace_id FROM calls WHERE project_id = OLD.project_id AND id = OLD.parent_id
      UNION ALL SELECT 'trace:' || trace_id FROM calls WHERE project_id = OLD.project_id AND parent_id = OLD.id
    ) WHERE about IS NOT NULL ON CONFLICT DO NOTHING;
END;

-- Costs are in the sums.
CREATE TRIGGER prices_insert AFTER INSERT ON prices
BEGIN
  INSERT INTO trace_sums_state (project_id, stored, at) VALUES (NEW.project_id, 0, -9000000000000000)
    ON CONFLICT (project_id) DO UPDATE SET at = excluded.at;
END;
CREATE TRIGGER prices_update AFTER UPDATE ON prices
BEGIN
  INSERT INTO trace_sums_state (project_id, stored, at) VALUES (NEW.project_id, 0, -9000000000000000)
    ON CONFLICT (project_id) DO UPDATE SET at = excluded.at;
END;
CREATE TRIGGER prices_delete AFTER DELETE ON prices
BEGIN
  INSERT INTO trace_sums_state (project_id, stored, at) VALUES (OLD.project_id, 0, -9000000000000000)
    ON CONFLICT (project_id) DO UPDATE SET at = excluded.at;
END;
