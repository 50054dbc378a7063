-- What the planner takes the tables to hold. Knowing nothing it takes a project to have ten rows, and reads all of it in
-- its order rather than look up what a list names. For each index: rows, and rows to each value of its first column, of
-- its first two, and so on. ANALYZE puts what it counts in the place of these.
ANALYZE sqlite_schema;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('calls', 'sqlite_autoindex_calls_1', '1000000 100000 1'),
  ('calls', 'calls_in_time', '1000000 100000 2 1'),
  ('calls', 'calls_of_trace', '1000000 100000 20'),
  ('calls', 'calls_of_parent', '800000 80000 10'),
  ('calls', 'calls_of_thread', '500000 50000 20'),
  ('calls', 'calls_expiring', '100000 2'),
  ('calls', 'calls_to_sweep', '1000 100'),
  ('calls', 'calls_swept', '1000 100'),
  ('feedback', 'sqlite_autoindex_feedback_1', '1000000 100000 1'),
  ('feedback', 'feedback_in_time', '1000000 100000 2 1'),
  ('feedback', 'feedback_of_ref', '1000000 100000 5 2 1'),
  ('feedback', 'feedback_of_call', '1000000 100000 5 2 1'),
  ('objects', 'sqlite_autoindex_objects_1', '100000 10000 10 1'),
  ('objects', 'objects_by_version', '100000 10000 10 1'),
  ('objects', 'objects_latest', '10000 1000 1'),
  ('objects', 'objects_in_time', '100000 10000 2 1 1'),
  ('objects', 'objects_by_recency', '100000 10000 10 1'),
  ('objects', 'objects_with_class', '100000 10000 10 10');

ANALYZE sqlite_schema;
