-- Lists show the words of conversations of every convention: the previews that earlier versions stored are derived again, in
-- the background. Reading the calls here would hold up the start.
INSERT INTO facts_backfill (id, at_project, at_call)
  SELECT 1, '', '' WHERE EXISTS (SELECT 1 FROM calls) ON CONFLICT (id) DO UPDATE SET at_project = '', at_call = '';
