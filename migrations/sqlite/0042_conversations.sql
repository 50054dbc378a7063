-- Conversations of OpenAI's wire, each of a user and of the project whose rules apply to its texts.
CREATE TABLE conversations (
  user_name TEXT NOT NULL,
  id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expire_at BIGINT, -- NULL is never; 0 once it is deleted, until its items are freed
  metadata TEXT NOT NULL, -- JSON object
  next_position BIGINT NOT NULL,
  items BIGINT NOT NULL, -- how many there are
  characters BIGINT NOT NULL, -- of all of them
  PRIMARY KEY (user_name, id)
);

CREATE INDEX conversations_of_project ON conversations (project_id, user_name, id);
CREATE INDEX conversations_expiring ON conversations (expire_at) WHERE expire_at IS NOT NULL;

CREATE TABLE conversation_items (
  user_name TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  id TEXT NOT NULL,
  item TEXT NOT NULL, -- JSON object without its id
  characters BIGINT NOT NULL,
  PRIMARY KEY (user_name, conversation_id, position)
);

CREATE UNIQUE INDEX conversation_items_by_id ON conversation_items (user_name, conversation_id, id);
