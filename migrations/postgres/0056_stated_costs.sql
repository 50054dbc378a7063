-- What the client of a call of one model says that it cost, in billionths: see src/domain/call-facts.
ALTER TABLE calls ADD COLUMN stated_cost BIGINT;

-- It is added up with the tokens.
DROP INDEX calls_in_time;
CREATE INDEX calls_in_time ON calls (project_id, started_at, id)
  INCLUDE (ended_at, expire_at, deleted_at, parent_id, status, op, model, asked_model, user_id, input_tokens, output_tokens,
    cache_read_tokens, cache_creation_tokens, first_token_us, stated_cost)
  WHERE started_at IS NOT NULL AND deleted_at IS NULL;

-- Servers of older versions write 2 and -2 there at most, and do not know stated costs: their calls are derived again.
DROP TRIGGER calls_underived_insert ON calls;
CREATE TRIGGER calls_underived_insert AFTER INSERT ON calls FOR EACH ROW
  WHEN (NEW.derivation IS NULL OR abs(NEW.derivation) < 3) EXECUTE FUNCTION heddle_mark_call();
DROP TRIGGER calls_underived_update ON calls;
CREATE TRIGGER calls_underived_update
  AFTER UPDATE OF parent_id, op_name, display_name, renamed, attributes, inputs, ended_at, output, summary, exception ON calls
  FOR EACH ROW WHEN (NEW.derivation IS NOT DISTINCT FROM OLD.derivation OR abs(NEW.derivation) < 3)
  EXECUTE FUNCTION heddle_mark_call();

-- Calls that are there are derived in the background: reading them here would hold up the start.
INSERT INTO facts_backfill (id, at_project, at_call)
  SELECT 1, '', '' WHERE EXISTS (SELECT 1 FROM calls) ON CONFLICT (id) DO UPDATE SET at_project = '', at_call = '';
