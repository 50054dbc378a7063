-- The calls of agents, and no others. Apart from the columns, whose lock would keep readers out while the table is scanned.
CREATE INDEX calls_of_agents ON calls (project_id, agent, agent_version, started_at, id) INCLUDE (parent_id, expire_at)
  WHERE started_at IS NOT NULL AND deleted_at IS NULL AND agent IS NOT NULL;
