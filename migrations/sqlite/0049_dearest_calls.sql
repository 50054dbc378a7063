-- The call of each sum that costs most, by the prices whose digest is before it: see src/storage/sums/largest.ts.
ALTER TABLE call_sums ADD COLUMN max_cost TEXT;

-- Hours of projects with prices are added up once more, some at a time.
INSERT INTO call_sum_marks (project_id, at, about, mark)
  SELECT DISTINCT project_id, -1, 'prices', (SELECT turn FROM call_sum_turn) FROM prices WHERE true ON CONFLICT DO NOTHING;
