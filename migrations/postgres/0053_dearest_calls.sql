-- The call of each sum that costs most, by the prices whose digest is before it: see src/storage/sums/largest.ts.
ALTER TABLE call_sums ADD COLUMN max_cost TEXT COLLATE "C";

-- Hours of projects with prices are added up once more, some at a time.
INSERT INTO call_sum_marks (project_id, at, about, mark)
  SELECT project_id, -1, 'prices', nextval('call_sum_marks_order') FROM (SELECT DISTINCT project_id FROM prices) AS priced ON CONFLICT DO NOTHING;
