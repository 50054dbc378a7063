-- Sums over calls by hour and by day, so that counts, facets and charts do not read the calls: see src/storage/sums.
CREATE TABLE call_sums (
  project_id TEXT COLLATE "C" NOT NULL,
  span BIGINT NOT NULL, -- in microseconds: an hour or a day
  field TEXT COLLATE "C" NOT NULL, -- op, model, status or user; empty for all calls
  at BIGINT NOT NULL, -- when it begins
  kind TEXT COLLATE "C" NOT NULL, -- root or child, and its origin
  value TEXT COLLATE "C" NOT NULL,
  calls BIGINT NOT NULL,
  figures TEXT COLLATE "C" NOT NULL, -- JSON list
  PRIMARY KEY (project_id, span, field, at, kind, value)
);

-- Hours whose sums may not be those of their calls. Each write marks its hours in its own transaction, and what adds them up takes
-- away the marks that it has seen. Marks have numbers of their own: writers never wait for each other here.
CREATE SEQUENCE call_sum_marks_order;
CREATE TABLE call_sum_marks (
  project_id TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL, -- the hour; 0 where it follows from `about`
  about TEXT COLLATE "C" NOT NULL, -- trace:… for the roots of a trace, caller:… for the calls of a call
  mark BIGINT NOT NULL DEFAULT nextval('call_sum_marks_order'),
  PRIMARY KEY (project_id, at, about, mark)
);

-- Projects with calls that were there before, and the hour up to which these are marked.
CREATE TABLE unsummed_projects (project_id TEXT COLLATE "C" PRIMARY KEY, at BIGINT NOT NULL);


CREATE FUNCTION heddle_mark_inserted_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about)
    SELECT DISTINCT project_id, started_at - (started_at % 3600000000 + 3600000000) % 3600000000, '' FROM added
      WHERE started_at IS NOT NULL AND deleted_at IS NULL
    UNION ALL SELECT DISTINCT project_id, 0, 'trace:' || trace_id FROM added
      WHERE status = 'error' AND parent_id IS NOT NULL AND trace_id IS NOT NULL
    UNION ALL SELECT project_id, 0, 'caller:' || id FROM added WHERE strpos(op_name, 'Evaluation.') > 0;
  RETURN NULL;
END;
$$;

CREATE FUNCTION heddle_mark_updated_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about)
    SELECT DISTINCT project_id, started_at - (started_at % 3600000000 + 3600000000) % 3600000000, ''
      FROM (SELECT project_id, started_at FROM added WHERE deleted_at IS NULL UNION ALL SELECT project_id, started_at FROM gone WHERE deleted_at IS NULL) AS changed
      WHERE started_at IS NOT NULL
    UNION ALL SELECT DISTINCT project_id, 0, 'trace:' || trace_id
      FROM (SELECT project_id, trace_id, status, parent_id FROM added UNION ALL SELECT project_id, trace_id, status, parent_id FROM gone) AS failed
      WHERE status = 'error' AND parent_id IS NOT NULL AND trace_id IS NOT NULL
    UNION ALL SELECT added.project_id, 0, 'caller:' || added.id FROM added JOIN gone ON gone.project_id = added.project_id AND gone.id = added.id
      WHERE (coalesce(strpos(added.op_name, 'Evaluation.'), 0) > 0) <> (coalesce(strpos(gone.op_name, 'Evaluation.'), 0) > 0);
  RETURN NULL;
END;
$$;

CREATE FUNCTION heddle_mark_deleted_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO call_sum_marks (project_id, at, about)
    SELECT DISTINCT project_id, started_at - (started_at % 3600000000 + 3600000000) % 3600000000, '' FROM gone
      WHERE started_at IS NOT NULL AND deleted_at IS NULL
    UNION ALL SELECT DISTINCT project_id, 0, 'trace:' || trace_id FROM gone
      WHERE status = 'error' AND parent_id IS NOT NULL AND trace_id IS NOT NULL AND deleted_at IS NULL
    UNION ALL SELECT project_id, 0, 'caller:' || id FROM gone WHERE strpos(op_name, 'Evaluation.') > 0;
  RETURN NULL;
END;
$$;

-- Once for all calls of a statement.
CREATE TRIGGER calls_summed_insert AFTER INSERT ON calls REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION heddle_mark_inserted_sums();
CREATE TRIGGER calls_summed_update AFTER UPDATE ON calls REFERENCING NEW TABLE AS added OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION heddle_mark_updated_sums();
CREATE TRIGGER calls_summed_delete AFTER DELETE ON calls REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION heddle_mark_deleted_sums();

-- CREATE TRIGGER has locked the table: whoever wrote before has committed.
INSERT INTO unsummed_projects (project_id, at)
  WITH RECURSIVE project (id) AS (
    SELECT min(project_id) FROM calls
    UNION ALL
    SELECT (SELECT min(project_id) FROM calls WHERE project_id > project.id) FROM project WHERE project.id IS NOT NULL
  ) SELECT id, -9000000000000000000 FROM project WHERE id IS NOT NULL;

-- What has expired and is still in the sums, in one project: nothing of others is read.
CREATE INDEX calls_expiring_of_project ON calls (project_id, expire_at) WHERE expire_at IS NOT NULL AND deleted_at IS NULL;
