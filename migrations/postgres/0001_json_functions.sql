-- What the query language reads from stored JSON. One row must never make a query fail, so every cast is guarded.

-- JSON as PostgreSQL can read it: U+0000 and halves of surrogate pairs have no place in its text, so their escapes become
-- U+FFFD. The text is taken apart only when such an escape may be in it.
CREATE FUNCTION heddle_json(stored TEXT) RETURNS JSON LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF strpos(stored, '\u') = 0
    OR regexp_replace(stored, '(?<!\\)\\u[dD][89abAB]..\\u[dD][c-fC-F]..', '', 'g') !~ '\\u(0000|[dD][89a-fA-F])'
  THEN
    RETURN stored::JSON;
  END IF;
  RETURN (
    SELECT string_agg(CASE WHEN part[1] ~ '^\\u(0000|[dD][89a-fA-F]..)$' THEN '\ufffd' ELSE part[1] END, '' ORDER BY n)
    FROM regexp_matches(stored, '[^\\]+|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[0-9a-fA-F]{4}|\\[^u]', 'g')
      WITH ORDINALITY AS parts (part, n)
  )::JSON;
END $$;

-- A string without quotes, a number as it was written except for a tail of zeros (5.0 is 5), lists and objects as they
-- are stored, and the empty text for null and for what is not there.
CREATE FUNCTION heddle_text(value JSON) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE json_typeof(value)
    WHEN 'string' THEN value #>> '{}'
    WHEN 'number' THEN regexp_replace(value::TEXT, '\.0+$', '')
    WHEN 'null' THEN ''
    ELSE coalesce(value::TEXT, '')
  END;
END $$;

-- Exact for integers of 64 bits, else the nearest double, so that both engines agree on what is equal. Doubles that are
-- whole become the integer that they are; PostgreSQL's own cast from double to numeric keeps only 15 digits.
CREATE FUNCTION heddle_number(value TEXT) RETURNS NUMERIC LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  number NUMERIC;
  nearest DOUBLE PRECISION;
BEGIN
  IF length(value) > 400 OR value !~ '^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?$' THEN
    RETURN NULL;
  END IF;
  number := value::NUMERIC;
  IF value !~ '[.eE]' AND number BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
    RETURN number;
  END IF;
  -- Halfway between the largest double and the next that would be.
  IF abs(number) >= 2::NUMERIC ^ 1024 - 2::NUMERIC ^ 970 THEN
    RETURN NULL;
  END IF;
  -- Half of the smallest double, rounded up; the cast would refuse it as an underflow.
  IF abs(number) < 2.4703282292062328e-324 THEN
    RETURN 0;
  END IF;
  nearest := value::DOUBLE PRECISION;
  IF nearest = trunc(nearest) AND nearest >= -9223372036854775808 AND nearest < 9223372036854775808 THEN
    RETURN nearest::BIGINT;
  END IF;
  -- Written as text, 1e23 would be 9.999999999999999e+22: the same double, but not what it is known as elsewhere.
  IF abs(nearest) < 1e30 AND abs(nearest) > 1e18 AND nearest::NUMERIC::DOUBLE PRECISION = nearest THEN
    RETURN nearest::NUMERIC;
  END IF;
  RETURN nearest::TEXT::NUMERIC;
END $$;

CREATE FUNCTION heddle_whole(value TEXT) RETURNS NUMERIC LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN CASE WHEN value ~ '^[-+]?[0-9]+$' THEN heddle_number(value) END;
END $$;

CREATE FUNCTION heddle_decimal(value TEXT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN trim_scale(heddle_number(value))::TEXT;
END $$;

-- ISO 8601, with no fraction or with three to six digits.
CREATE FUNCTION heddle_time(micros BIGINT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  wall TEXT := to_char(TIMESTAMP '1970-01-01' + micros * INTERVAL '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US');
BEGIN
  RETURN regexp_replace(regexp_replace(wall, '\.000000$', ''), '(\.[0-9]{3})([0-9]*[1-9])?0*$', '\1\2') || 'Z';
END $$;

-- Lower case needs a collation that knows more than ASCII, and servers differ in which they have. The sigma that ends a
-- word is made like any other, because a search for a part of a word must find it.
DO $$
DECLARE
  unicode TEXT := (
    SELECT quote_ident(collname) FROM pg_collation
    WHERE collnamespace = 'pg_catalog'::REGNAMESPACE AND collname IN ('pg_unicode_fast', 'und-x-icu', 'pg_c_utf8')
    ORDER BY array_position(ARRAY['pg_unicode_fast', 'und-x-icu', 'pg_c_utf8'], collname::TEXT) LIMIT 1
  );
BEGIN
  EXECUTE format(
    $f$CREATE FUNCTION heddle_lower(value TEXT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
      'BEGIN RETURN replace(lower(value COLLATE pg_catalog.%s), ''ς'', ''σ''); END'$f$,
    coalesce(unicode, '"default"')
  );
END $$;
