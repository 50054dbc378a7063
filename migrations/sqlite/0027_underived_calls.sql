-- Each write of a server that derives what lists, the search and evaluations show of calls changes this number. A server of an
-- older version leaves it alone, which marks the call: see src/storage/calls/underived.ts.
ALTER TABLE calls ADD COLUMN derivation INTEGER;
ALTER TABLE eval_trials ADD COLUMN derivation INTEGER;

-- Calls whose derived data may not be those of the call. Each write changes the mark, so that what is derived takes away what it
-- has seen and nothing else.
CREATE TABLE underived_calls (
  project_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  mark TEXT NOT NULL,
  PRIMARY KEY (project_id, call_id)
) WITHOUT ROWID;

-- The project whose marks were processed last: projects take turns.
CREATE TABLE derivation_turn (id INTEGER PRIMARY KEY, project_turn TEXT NOT NULL);
INSERT INTO derivation_turn (id, project_turn) VALUES (1, '');

CREATE TRIGGER calls_underived_insert AFTER INSERT ON calls WHEN NEW.derivation IS NULL
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER calls_underived_update
AFTER UPDATE OF parent_id, op_name, display_name, renamed, inputs, ended_at, output, summary, exception ON calls
WHEN NEW.derivation IS OLD.derivation
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER eval_trials_underived_insert AFTER INSERT ON eval_trials WHEN NEW.derivation IS NULL
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark)
    VALUES (NEW.project_id, NEW.trial_id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER eval_trials_underived_update AFTER UPDATE ON eval_trials WHEN NEW.derivation IS OLD.derivation
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark)
    VALUES (NEW.project_id, NEW.trial_id, lower(hex(randomblob(16))))
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
END;

-- Columns that were made of other rows are not used, whoever has changed the rows.
CREATE TRIGGER eval_row_sets_renewed AFTER UPDATE OF row_count, row_sum ON eval_row_sets WHEN NEW.version = OLD.version
BEGIN
  UPDATE eval_row_sets SET version = lower(hex(randomblob(16)))
    WHERE project_id = NEW.project_id AND evaluation_id = NEW.evaluation_id;
END;

CREATE TRIGGER eval_trials_deleted AFTER DELETE ON eval_trials
BEGIN
  UPDATE eval_row_sets SET version = lower(hex(randomblob(16)))
    WHERE project_id = OLD.project_id AND evaluation_id = OLD.evaluation_id;
END;

-- Calls are found by the words of notes about them.
CREATE TRIGGER feedback_noted AFTER INSERT ON feedback WHEN NEW.feedback_type = 'wandb.note.1' AND NEW.call_id IS NOT NULL
BEGIN
  INSERT INTO search_marks (project_id, mark, call_ids)
    SELECT NEW.project_id, lower(hex(randomblob(16))), json_array(NEW.call_id)
    WHERE EXISTS (SELECT 1 FROM search_state WHERE is_on = 1);
END;

CREATE TRIGGER feedback_note_removed AFTER DELETE ON feedback
WHEN OLD.feedback_type = 'wandb.note.1' AND OLD.call_id IS NOT NULL
BEGIN
  INSERT INTO search_marks (project_id, mark, call_ids)
    SELECT OLD.project_id, lower(hex(randomblob(16))), json_array(OLD.call_id)
    WHERE EXISTS (SELECT 1 FROM search_state WHERE is_on = 1);
END;

-- What an upgrade server by server has lost before. Calls that are still derived for the first time need no mark.
INSERT INTO underived_calls (project_id, call_id, mark)
  SELECT project_id, id, '' FROM calls INDEXED BY calls_in_time
  WHERE started_at IS NOT NULL AND deleted_at IS NULL AND (op IS NULL OR (ended_at IS NOT NULL AND status IS NULL))
    AND NOT EXISTS (SELECT 1 FROM facts_backfill);
UPDATE facts_backfill SET at_project = '', at_call = '';
