-- Which call gave which score follows from the calls' own names now. Trials that scorers speak of are derived again when someone
-- looks at them, or a few at a time.
UPDATE eval_trials SET stale_at = 0
  WHERE EXISTS (SELECT 1 FROM calls WHERE calls.project_id = eval_trials.project_id AND calls.parent_id = eval_trials.trial_id
    AND (lower(calls.op_name) LIKE '%score%' OR calls.attributes LIKE '%score%'));
