-- A monitor whose user was removed is stopped, and runs as whoever resumes it.
ALTER TABLE monitors ADD COLUMN runs_as TEXT NOT NULL DEFAULT '';
ALTER TABLE monitors ADD COLUMN stopped TEXT; -- why the server has paused it
UPDATE monitors SET runs_as = created_by;
