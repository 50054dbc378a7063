-- Sums over calls by hour and by day, so that counts, facets and charts do not read the calls: see src/storage/sums.
CREATE TABLE call_sums (
  project_id TEXT NOT NULL,
  span BIGINT NOT NULL, -- in microseconds: an hour or a day
  field TEXT NOT NULL, -- op, model, status or user; empty for all calls
  at BIGINT NOT NULL, -- when it begins
  kind TEXT NOT NULL, -- root or child, and its origin
  value TEXT NOT NULL,
  calls BIGINT NOT NULL,
  figures TEXT NOT NULL, -- JSON list
  PRIMARY KEY (project_id, span, field, at, kind, value)
) WITHOUT ROWID;

-- Hours whose sums may not be those of their calls. Each write marks its hours in its own transaction, and what adds them up takes
-- away the marks that it has seen.
CREATE TABLE call_sum_marks (
  project_id TEXT NOT NULL,
  at BIGINT NOT NULL, -- the hour; 0 where it follows from `about`
  about TEXT NOT NULL, -- trace:… for the roots of a trace, caller:… for the calls of a call
  mark BIGINT NOT NULL,
  PRIMARY KEY (project_id, at, about, mark)
) WITHOUT ROWID;

-- The marks of later writes are greater.
CREATE TABLE call_sum_turn (id INTEGER PRIMARY KEY, turn BIGINT NOT NULL);
INSERT INTO call_sum_turn (id, turn) VALUES (1, 1);

-- Projects with calls that were there before, and the hour up to which these are marked.
CREATE TABLE unsummed_projects (project_id TEXT PRIMARY KEY, at BIGINT NOT NULL) WITHOUT ROWID;
INSERT INTO unsummed_projects (project_id, at)
  WITH RECURSIVE project (id) AS (
    SELECT min(project_id) FROM calls
    UNION ALL
    SELECT (SELECT min(project_id) FROM calls WHERE project_id > project.id) FROM project WHERE project.id IS NOT NULL
  ) SELECT id, -9000000000000000000 FROM project WHERE id IS NOT NULL;

-- Nearly all calls of a write find the mark of their hour, which is looked up without running a trigger.
CREATE TRIGGER calls_summed_insert AFTER INSERT ON calls
WHEN NEW.started_at IS NOT NULL AND NEW.deleted_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM call_sum_marks WHERE project_id = NEW.project_id AND about = ''
    AND at = NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000 AND mark = (SELECT turn FROM call_sum_turn))
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000, '', turn FROM call_sum_turn;
END;

CREATE TRIGGER calls_summed_update
AFTER UPDATE OF started_at, ended_at, deleted_at, parent_id, trace_id, op_name, op, model, asked_model, status, user_id,
  input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, first_token_us ON calls
WHEN NEW.started_at IS NOT NULL AND (NEW.deleted_at IS NULL OR OLD.deleted_at IS NULL) AND NOT EXISTS (
  SELECT 1 FROM call_sum_marks WHERE project_id = NEW.project_id AND about = ''
    AND at = NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000 AND mark = (SELECT turn FROM call_sum_turn))
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000, '', turn FROM call_sum_turn;
END;

CREATE TRIGGER calls_summed_move AFTER UPDATE OF started_at ON calls
WHEN OLD.started_at IS NOT NULL AND OLD.started_at IS NOT NEW.started_at AND OLD.deleted_at IS NULL
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, OLD.started_at - (OLD.started_at % 3600000000 + 3600000000) % 3600000000, '', turn FROM call_sum_turn WHERE true
    ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_summed_delete AFTER DELETE ON calls WHEN OLD.started_at IS NOT NULL AND OLD.deleted_at IS NULL
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, OLD.started_at - (OLD.started_at % 3600000000 + 3600000000) % 3600000000, '', turn FROM call_sum_turn WHERE true
    ON CONFLICT DO NOTHING;
END;

-- A failed call shows at the root of its trace, whose hour is another one and may not be known yet.
CREATE TRIGGER calls_failed_insert AFTER INSERT ON calls
WHEN NEW.status = 'error' AND NEW.parent_id IS NOT NULL AND NEW.trace_id IS NOT NULL
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, 0, 'trace:' || NEW.trace_id, turn FROM call_sum_turn WHERE true ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_failed_update AFTER UPDATE OF started_at, deleted_at, parent_id, trace_id, status ON calls
WHEN (NEW.status = 'error' AND NEW.parent_id IS NOT NULL) OR (OLD.status = 'error' AND OLD.parent_id IS NOT NULL)
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, 0, 'trace:' || NEW.trace_id, turn FROM call_sum_turn WHERE NEW.trace_id IS NOT NULL ON CONFLICT DO NOTHING;
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, 0, 'trace:' || OLD.trace_id, turn FROM call_sum_turn
    WHERE OLD.trace_id IS NOT NULL AND OLD.trace_id IS NOT NEW.trace_id ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_failed_delete AFTER DELETE ON calls
WHEN OLD.status = 'error' AND OLD.parent_id IS NOT NULL AND OLD.trace_id IS NOT NULL AND OLD.deleted_at IS NULL
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, 0, 'trace:' || OLD.trace_id, turn FROM call_sum_turn WHERE true ON CONFLICT DO NOTHING;
END;

-- What an evaluation has called is of its origin.
CREATE TRIGGER calls_evaluating_insert AFTER INSERT ON calls WHEN instr(NEW.op_name, 'Evaluation.') > 0
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, 0, 'caller:' || NEW.id, turn FROM call_sum_turn WHERE true ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_evaluating_update AFTER UPDATE OF op_name ON calls
WHEN (coalesce(instr(NEW.op_name, 'Evaluation.'), 0) > 0) IS NOT (coalesce(instr(OLD.op_name, 'Evaluation.'), 0) > 0)
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, 0, 'caller:' || NEW.id, turn FROM call_sum_turn WHERE true ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER calls_evaluating_delete AFTER DELETE ON calls WHEN instr(OLD.op_name, 'Evaluation.') > 0
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT OLD.project_id, 0, 'caller:' || OLD.id, turn FROM call_sum_turn WHERE true ON CONFLICT DO NOTHING;
END;

-- What has expired and is still in the sums, in one project: nothing of others is read.
CREATE INDEX calls_expiring_of_project ON calls (project_id, expire_at) WHERE expire_at IS NOT NULL AND deleted_at IS NULL;
