-- Each write of a server that derives what lists, the search and evaluations show of calls changes this number. A server of an
-- older version leaves it alone, which marks the call: see src/storage/calls/underived.ts.
ALTER TABLE calls ADD COLUMN derivation SMALLINT;
ALTER TABLE eval_trials ADD COLUMN derivation SMALLINT;

-- Calls whose derived data may not be those of the call. Each write changes the mark, so that what is derived takes away what it
-- has seen and nothing else.
CREATE TABLE underived_calls (
  project_id TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C" NOT NULL,
  mark TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, call_id)
);

-- The project whose marks were processed last: projects take turns.
CREATE TABLE derivation_turn (id INTEGER PRIMARY KEY, project_turn TEXT COLLATE "C" NOT NULL);
INSERT INTO derivation_turn (id, project_turn) VALUES (1, '');

CREATE FUNCTION heddle_mark_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.id, gen_random_uuid())
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
  RETURN NULL;
END;
$$;

CREATE TRIGGER calls_underived_insert AFTER INSERT ON calls FOR EACH ROW
  WHEN (NEW.derivation IS NULL) EXECUTE FUNCTION heddle_mark_call();
CREATE TRIGGER calls_underived_update
  AFTER UPDATE OF parent_id, op_name, display_name, renamed, inputs, ended_at, output, summary, exception ON calls FOR EACH ROW
  WHEN (NEW.derivation IS NOT DISTINCT FROM OLD.derivation) EXECUTE FUNCTION heddle_mark_call();

CREATE FUNCTION heddle_mark_trial() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO underived_calls (project_id, call_id, mark) VALUES (NEW.project_id, NEW.trial_id, gen_random_uuid())
    ON CONFLICT (project_id, call_id) DO UPDATE SET mark = excluded.mark;
  RETURN NULL;
END;
$$;

CREATE TRIGGER eval_trials_underived_insert AFTER INSERT ON eval_trials FOR EACH ROW
  WHEN (NEW.derivation IS NULL) EXECUTE FUNCTION heddle_mark_trial();
CREATE TRIGGER eval_trials_underived_update AFTER UPDATE ON eval_trials FOR EACH ROW
  WHEN (NEW.derivation IS NOT DISTINCT FROM OLD.derivation) EXECUTE FUNCTION heddle_mark_trial();

-- Columns that were made of other rows are not used, whoever has changed the rows.
CREATE FUNCTION heddle_renew_row_set() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := gen_random_uuid();
  RETURN NEW;
END;
$$;

CREATE TRIGGER eval_row_sets_renewed BEFORE UPDATE OF row_count, row_sum ON eval_row_sets FOR EACH ROW
  WHEN (NEW.version = OLD.version) EXECUTE FUNCTION heddle_renew_row_set();

CREATE FUNCTION heddle_renew_row_sets_of_trials() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE eval_row_sets SET version = gen_random_uuid()
    WHERE (project_id, evaluation_id) IN (SELECT project_id, evaluation_id FROM gone);
  RETURN NULL;
END;
$$;

-- Once for all trials of a statement: each update of a row leaves a dead one behind, which the next update has to pass.
CREATE TRIGGER eval_trials_deleted AFTER DELETE ON eval_trials REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
  EXECUTE FUNCTION heddle_renew_row_sets_of_trials();

-- Calls are found by the words of notes about them.
CREATE FUNCTION heddle_mark_noted_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_marks (project_id, mark, call_ids)
    SELECT coalesce(NEW.project_id, OLD.project_id), gen_random_uuid(), json_build_array(coalesce(NEW.call_id, OLD.call_id))
    WHERE EXISTS (SELECT 1 FROM search_state WHERE is_on = 1);
  RETURN NULL;
END;
$$;

CREATE TRIGGER feedback_noted AFTER INSERT ON feedback FOR EACH ROW
  WHEN (NEW.feedback_type = 'wandb.note.1' AND NEW.call_id IS NOT NULL) EXECUTE FUNCTION heddle_mark_noted_call();
CREATE TRIGGER feedback_note_removed AFTER DELETE ON feedback FOR EACH ROW
  WHEN (OLD.feedback_type = 'wandb.note.1' AND OLD.call_id IS NOT NULL) EXECUTE FUNCTION heddle_mark_noted_call();
