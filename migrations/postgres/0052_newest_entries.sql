-- The newest entries, in which a common word is soon found: see src/storage/search. Calls are written meanwhile; only
-- what changes entries waits until it is there.
CREATE INDEX search_entries_newest ON search_entries (project_id, doc);
