-- What the attributes of a call say about agents: see src/domain/call-facts/agent.ts.
ALTER TABLE calls ADD COLUMN agent TEXT COLLATE "C";
ALTER TABLE calls ADD COLUMN agent_version TEXT COLLATE "C";
ALTER TABLE calls ADD COLUMN operation TEXT COLLATE "C";

-- Servers of older versions write 1 and -1 there, and do not know agents: their calls are derived again.
DROP TRIGGER calls_underived_insert ON calls;
CREATE TRIGGER calls_underived_insert AFTER INSERT ON calls FOR EACH ROW
  WHEN (NEW.derivation IS NULL OR abs(NEW.derivation) < 2) EXECUTE FUNCTION heddle_mark_call();
DROP TRIGGER calls_underived_update ON calls;
CREATE TRIGGER calls_underived_update
  AFTER UPDATE OF parent_id, op_name, display_name, renamed, attributes, inputs, ended_at, output, summary, exception ON calls
  FOR EACH ROW WHEN (NEW.derivation IS NOT DISTINCT FROM OLD.derivation OR abs(NEW.derivation) < 2)
  EXECUTE FUNCTION heddle_mark_call();

-- Calls that are there are derived in the background: reading them here would hold up the start.
INSERT INTO facts_backfill (id, at_project, at_call)
  SELECT 1, '', '' WHERE EXISTS (SELECT 1 FROM calls) ON CONFLICT (id) DO UPDATE SET at_project = '', at_call = '';
