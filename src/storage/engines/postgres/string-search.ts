import { join, rawSql, type Sql, sql } from '../../sql/sql.ts'
import { type StringSearch, searchIn } from '../../sql/string-search.ts'

/** The document is unpacked once per row. */
export function containsStringIn(column: Sql, search: StringSearch): Sql {
  const position = (text: string) => sql`strpos(document, CAST(${text} AS TEXT))`
  const found = searchIn(rawSql('document'), search, foundExactly(search), position)
  return sql`(SELECT ${found} FROM (SELECT ${column} || '' AS document OFFSET 0) AS unpacked)`
}

/** Every second piece between unescaped quotes is a string. */
function foundExactly({ whole, starts }: StringSearch): Sql {
  const list = (texts: readonly string[]) =>
    sql`SELECT json_array_elements_text(CAST(${JSON.stringify(texts.map(withoutQuotes))} AS JSON))`
  const pieces = sql`string_to_table(replace(replace(document, '\\\\', chr(2)), '\\"', chr(1)), '"')
    WITH ORDINALITY AS pieces (piece, place)`
  const alternatives: Sql[] = []
  if (whole.length > 0) alternatives.push(sql`piece IN (${list(whole)})`)
  if (starts.length > 0) alternatives.push(sql`piece ^@ ANY (ARRAY(${list(starts)}))`)
  return sql`EXISTS (SELECT 1 FROM ${pieces} WHERE place % 2 = 0 AND (${join(alternatives, ' OR ')}))`
}

/** JSON never contains raw control characters, so here they stand for the two escapes that involve quotes. */
function withoutQuotes(text: string): string {
  return text.replaceAll('\\\\', '\x02').replaceAll('\\"', '\x01')
}
