-- What the attributes of a call say about agents: see src/domain/call-facts/agent.ts.
ALTER TABLE calls ADD COLUMN agent TEXT;
ALTER TABLE calls ADD COLUMN agent_version TEXT;
ALTER TABLE calls ADD COLUMN operation TEXT;

-- The calls of agents, and no others.
CREATE INDEX calls_of_agents ON calls (project_id, agent, agent_version, started_at, id, parent_id, expire_at)
  WHERE started_at IS NOT NULL AND deleted_at IS NULL AND agent IS NOT NULL;

-- Servers of older versions write 1 and -1 there, and do not know agents: their calls are derived again.
DROP TRIGGER calls_underived_insert;
CREATE TRIGGER calls_underived_insert AFTER INSERT ON calls WHEN NEW.derivation IS NULL OR abs(NEW.derivation) < 2
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

DROP TRIGGER calls_underived_update;
CREATE TRIGGER calls_underived_update
AFTER UPDATE OF parent_id, op_name, display_name, renamed, attributes, inputs, ended_at, output, summary, exception ON calls
WHEN NEW.derivation IS OLD.derivation OR abs(NEW.derivation) < 2
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

-- Calls that are there are derived in the background: reading them here would hold up the start.
INSERT INTO facts_backfill (id, at_project, at_call)
  SELECT 1, '', '' WHERE EXISTS (SELECT 1 FROM calls) ON CONFLICT (id) DO UPDATE SET at_project = '', at_call = '';
