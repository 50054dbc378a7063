-- What agents and conversations are sorted by, and lists show of agents, so that they do not read the calls: see
-- src/storage/trace-sums. The calls of an agent are those that name it and what runs below these.
-- Whoever wrote without the marks below has committed.
LOCK TABLE calls, prices IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE agent_sums (
  project_id TEXT COLLATE "C" NOT NULL,
  span BIGINT NOT NULL, -- in microseconds: an hour or a day
  agent TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL, -- when the hour or day begins in which calls name the agent
  version TEXT COLLATE "C" NOT NULL,
  invocations DOUBLE PRECISION NOT NULL,
  calls DOUBLE PRECISION NOT NULL,
  errors DOUBLE PRECISION NOT NULL,
  input DOUBLE PRECISION NOT NULL,
  output DOUBLE PRECISION NOT NULL,
  cost DOUBLE PRECISION, -- by the prices of the project
  first_seen BIGINT NOT NULL,
  last_seen BIGINT NOT NULL,
  durations TEXT COLLATE "C", -- microseconds, with commas between
  PRIMARY KEY (project_id, span, at, agent, version)
);

CREATE TABLE thread_sums (
  project_id TEXT COLLATE "C" NOT NULL,
  thread_id TEXT COLLATE "C" NOT NULL,
  failures BIGINT, -- NULL of conversations that are too long
  cost DOUBLE PRECISION,
  PRIMARY KEY (project_id, thread_id)
);
CREATE INDEX thread_sums_by_failures ON thread_sums (project_id, failures DESC, thread_id);
CREATE INDEX thread_sums_by_cost ON thread_sums (project_id, cost DESC, thread_id) WHERE cost IS NOT NULL;

-- How often these sums were stored, and the hour up to which calls are marked that were there before, or before prices changed.
CREATE TABLE trace_sums_state (project_id TEXT COLLATE "C" PRIMARY KEY, stored BIGINT NOT NULL, at BIGINT);
INSERT INTO trace_sums_state (project_id, stored, at)
  WITH RECURSIVE project (id) AS (
    SELECT min(project_id) FROM calls
    UNION ALL
    SELECT (SELECT min(project_id) FROM calls WHERE project_id > project.id) FROM project WHERE project.id IS NOT NULL
  ) SELECT id, 0, -9000000000000000 FROM project WHERE id IS NOT NULL;

-- The marks of hours about `traces` stand for the traces with calls in them. A call that goes away, or to another place, may have
-- been the only one there: then marks at 1 name its trace and conversation, and the traces that it has tied together.
CREATE OR REPLACE FUNCTION heddle_mark_inserted_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about)
    SELECT project_id, at, about FROM (SELECT DISTINCT project_id, started_at - (started_at % 3600000000 + 3600000000) % 3600000000 AS at FROM added
      WHERE started_at IS NOT NULL AND deleted_at IS NULL) AS hours CROSS JOIN (VALUES (''), ('traces')) AS marked (about)
    UNION ALL SELECT DISTINCT project_id, 0, 'trace:' || trace_id FROM added
      WHERE status = 'error' AND parent_id IS NOT NULL AND trace_id IS NOT NULL
    UNION ALL SELECT project_id, 0, 'caller:' || id FROM added WHERE strpos(op_name, 'Evaluation.') > 0;
  RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION heddle_mark_updated_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about)
    SELECT project_id, at, about FROM (SELECT DISTINCT project_id, started_at - (started_at % 3600000000 + 3600000000) % 3600000000 AS at
      FROM (SELECT project_id, started_at FROM added WHERE deleted_at IS NULL UNION ALL SELECT project_id, started_at FROM gone WHERE deleted_at IS NULL) AS changed
      WHERE started_at IS NOT NULL) AS hours CROSS JOIN (VALUES (''), ('traces')) AS marked (about)
    UNION ALL SELECT DISTINCT project_id, 0, 'trace:' || trace_id
      FROM (SELECT project_id, trace_id, status, parent_id FROM added UNION ALL SELECT project_id, trace_id, status, parent_id FROM gone) AS failed
      WHERE status = 'error' AND parent_id IS NOT NULL AND trace_id IS NOT NULL
    UNION ALL SELECT added.project_id, 0, 'caller:' || added.id FROM added JOIN gone ON gone.project_id = added.project_id AND gone.id = added.id
      WHERE (coalesce(strpos(added.op_name, 'Evaluation.'), 0) > 0) <> (coalesce(strpos(gone.op_name, 'Evaluation.'), 0) > 0);
  IF EXISTS (SELECT 1 FROM gone JOIN added ON added.project_id = gone.project_id AND added.id = gone.id
    WHERE gone.started_at IS NOT NULL AND (gone.deleted_at IS NOT NULL OR added.deleted_at IS NOT NULL OR gone.trace_id IS DISTINCT FROM added.trace_id
      OR gone.parent_id IS DISTINCT FROM added.parent_id OR gone.thread_id IS DISTINCT FROM added.thread_id)) THEN
    INSERT INTO call_sum_marks (project_id, at, about)
    WITH moved AS MATERIALIZED (
      SELECT gone.project_id, gone.id, gone.trace_id, gone.parent_id, gone.thread_id
      FROM gone JOIN added ON added.project_id = gone.project_id AND added.id = gone.id
      WHERE gone.started_at IS NOT NULL AND (gone.deleted_at IS NOT NULL OR added.deleted_at IS NOT NULL OR gone.trace_id IS DISTINCT FROM added.trace_id
        OR gone.parent_id IS DISTINCT FROM added.parent_id OR gone.thread_id IS DISTINCT FROM added.thread_id))
    SELECT DISTINCT project_id, 1, 'trace:' || trace_id FROM moved WHERE trace_id IS NOT NULL
    UNION ALL SELECT DISTINCT project_id, 1, 'thread:' || thread_id FROM moved WHERE thread_id <> ''
    UNION ALL SELECT DISTINCT calls.project_id, 1, 'trace:' || calls.trace_id FROM moved JOIN calls
      ON calls.project_id = moved.project_id AND calls.id = moved.parent_id WHERE calls.trace_id IS DISTINCT FROM moved.trace_id AND calls.trace_id IS NOT NULL
    UNION ALL SELECT DISTINCT calls.project_id, 1, 'trace:' || calls.trace_id FROM moved JOIN calls
      ON calls.project_id = moved.project_id AND calls.parent_id = moved.id WHERE calls.trace_id IS DISTINCT FROM moved.trace_id AND calls.trace_id IS NOT NULL;
  END IF;
  RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION heddle_mark_deleted_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about)
    SELECT project_id, at, about FROM (SELECT DISTINCT project_id, started_at - (started_at % 3600000000 + 3600000000) % 3600000000 AS at FROM gone
      WHERE started_at IS NOT NULL AND deleted_at IS NULL) AS hours CROSS JOIN (VALUES (''), ('traces')) AS marked (about)
    UNION ALL SELECT DISTINCT project_id, 0, 'trace:' || trace_id FROM gone
      WHERE status = 'error' AND parent_id IS NOT NULL AND trace_id IS NOT NULL AND deleted_at IS NULL
    UNION ALL SELECT project_id, 0, 'caller:' || id FROM gone WHERE strpos(op_name, 'Evaluation.') > 0
    UNION ALL SELECT DISTINCT project_id, 1, 'trace:' || trace_id FROM gone WHERE trace_id IS NOT NULL
    UNION ALL SELECT DISTINCT project_id, 1, 'thread:' || thread_id FROM gone WHERE thread_id <> ''
    UNION ALL SELECT DISTINCT calls.project_id, 1, 'trace:' || calls.trace_id FROM gone JOIN calls
      ON calls.project_id = gone.project_id AND calls.id = gone.parent_id WHERE calls.trace_id IS DISTINCT FROM gone.trace_id AND calls.trace_id IS NOT NULL
    UNION ALL SELECT DISTINCT calls.project_id, 1, 'trace:' || calls.trace_id FROM gone JOIN calls
      ON calls.project_id = gone.project_id AND calls.parent_id = gone.id WHERE calls.trace_id IS DISTINCT FROM gone.trace_id AND calls.trace_id IS NOT NULL;
  RETURN NULL;
END;
$$;

-- Costs are in the sums.
CREATE FUNCTION heddle_mark_prices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO trace_sums_state (project_id, stored, at)
    VALUES (CASE WHEN TG_OP = 'DELETE' THEN OLD.project_id ELSE NEW.project_id END, 0, -9000000000000000)
    ON CONFLICT (project_id) DO UPDATE SET at = excluded.at;
  RETURN NULL;
END;
$$;
CREATE TRIGGER prices_summed AFTER INSERT OR UPDATE OR DELETE ON prices FOR EACH ROW EXECUTE FUNCTION heddle_mark_prices();
