-- The operators in functions of their own, because what an operator leaves behind while it looks through a large value is
-- freed when a function returns, and otherwise when the query comes to its next row.
CREATE FUNCTION heddle_value(document JSON, path TEXT[]) RETURNS JSON LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN document #> path;
END $$;

CREATE FUNCTION heddle_member(document JSON, key TEXT) RETURNS JSON LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN document -> key;
END $$;
