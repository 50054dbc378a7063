-- The name that was given to a call by itself, after whatever its start and its end brought.
ALTER TABLE calls ADD COLUMN renamed TEXT COLLATE "C";
