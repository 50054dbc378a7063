-- The turns of conversations, see src/storage/views/threads.ts. Holds what a list of threads shows, and no other calls.
CREATE INDEX calls_of_turns ON calls (project_id, thread_id, started_at, id, ended_at, expire_at)
  WHERE started_at IS NOT NULL AND deleted_at IS NULL AND thread_id <> '' AND (parent_id IS NULL OR turn_id = id);
