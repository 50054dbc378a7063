-- What the client of a call of one model says that it cost, in billionths: see src/domain/call-facts.
ALTER TABLE calls ADD COLUMN stated_cost BIGINT;

-- It is added up with the tokens.
DROP INDEX calls_in_time;
CREATE INDEX calls_in_time ON calls (
  project_id, started_at, id, ended_at, expire_at, parent_id, status, op, model, asked_model, user_id, input_tokens,
  output_tokens, cache_read_tokens, cache_creation_tokens, first_token_us, stated_cost
) WHERE started_at IS NOT NULL AND deleted_at IS NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('calls', 'calls_in_time', '1000000 100000 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1');
INSERT INTO sqlite_stat1 (tbl, idx, stat) SELECT 'calls', 'calls_of_turns', '100000 10000 10 1 1 1 1'
  WHERE NOT EXISTS (SELECT 1 FROM sqlite_stat1 WHERE idx = 'calls_of_turns');
ANALYZE sqlite_schema;

DROP TRIGGER calls_summed_update;
CREATE TRIGGER calls_summed_update
AFTER UPDATE OF started_at, ended_at, deleted_at, parent_id, trace_id, op_name, op, model, asked_model, status, user_id,
  input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, stated_cost, first_token_us, agent, agent_version, operation,
  thread_id, turn_id, expire_at, attributes, summary ON calls
WHEN NEW.started_at IS NOT NULL AND (NEW.deleted_at IS NULL OR OLD.deleted_at IS NULL) AND NOT EXISTS (
  SELECT 1 FROM call_sum_marks WHERE project_id = NEW.project_id AND about = 'traces'
    AND at = NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000 AND mark = (SELECT turn FROM call_sum_turn))
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT NEW.project_id, NEW.started_at - (NEW.started_at % 3600000000 + 3600000000) % 3600000000, about.column1, turn
      FROM call_sum_turn CROSS JOIN (VALUES (''), ('traces')) AS about WHERE true ON CONFLICT DO NOTHING;
END;

-- Servers of older versions write 2 and -2 there at most, and do not know stated costs: their calls are derived again.
DROP TRIGGER calls_underived_insert;
CREATE TRIGGER calls_underived_insert AFTER INSERT ON calls WHEN NEW.derivation IS NULL OR abs(NEW.derivation) < 3
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

DROP TRIGGER calls_underived_update;
CREATE TRIGGER calls_underived_update
AFTER UPDATE OF parent_id, op_name, display_name, renamed, attributes, inputs, ended_at, output, summary, exception ON calls
WHEN NEW.derivation IS OLD.derivation OR abs(NEW.derivation) < 3
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

-- Calls that are there are derived in the background: reading them here would hold up the start.
INSERT INTO facts_backfill (id, at_project, at_call)
  SELECT 1, '', '' WHERE EXISTS (SELECT 1 FROM calls) ON CONFLICT (id) DO UPDATE SET at_project = '', at_call = '';
