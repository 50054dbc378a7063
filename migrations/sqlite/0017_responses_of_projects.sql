-- Also what a project has of them is looked up.
DROP INDEX responses_of_calls;
CREATE INDEX responses_of_calls ON responses (project_id, call_id);
