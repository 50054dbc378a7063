-- An answer of the Responses API is read from the call that it is. One that was kept before answers were calls has no call,
-- and its texts in response_texts; it was told to its user alone, so it does not become a call of a project.
ALTER TABLE responses ADD COLUMN project_id TEXT;
ALTER TABLE responses ADD COLUMN call_id TEXT;

CREATE INDEX responses_of_calls ON responses (project_id, call_id) WHERE call_id IS NOT NULL;

-- What the call has not.
CREATE TABLE response_details (
  user_name TEXT NOT NULL,
  id TEXT NOT NULL,
  referred TEXT NOT NULL, -- JSON object: the items that references stand for, by their index in the input
  cuts TEXT NOT NULL, -- JSON list: the lengths of the deltas of its stream
  PRIMARY KEY (user_name, id)
);
