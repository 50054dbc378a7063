-- Versions that share an alias with weights.
ALTER TABLE object_aliases ADD COLUMN share TEXT; -- JSON list of digest and weight; null if there is none
