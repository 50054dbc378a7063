-- By itself: adding columns locks out readers, and the index is built from the whole table.
-- The calls of agents, and no others.
CREATE INDEX calls_of_agents ON calls (project_id, agent, agent_version, started_at, id) INCLUDE (parent_id, expire_at)
  WHERE started_at IS NOT NULL AND deleted_at IS NULL AND agent IS NOT NULL;
