import { allOf, join, type Sql, sql, trusted } from '../../sql/sql.ts'
import type { StringSearch } from '../../sql/string-search.ts'

/** More texts are found faster by one pass that knows them all. */
const mostOneByOne = 16

/** Bytes that are searched, a row for each of the texts, before one pass has less to do. */
const searched = 8 << 20

/** The document is unpacked once for a row. */
export function containsStringIn(column: Sql, search: StringSearch): Sql {
  return sql`(SELECT ${found(search)} FROM (SELECT ${column} || '' AS document OFFSET 0) AS unpacked)`
}

function found(search: StringSearch): Sql {
  const { necessary, sufficient } = search
  const exactly = foundExactly(search)
  if (necessary.length > mostOneByOne || necessary.includes('')) return exactly
  const most = trusted(String(Math.floor(searched / necessary.length)))
  const at = (text: string) => sql`strpos(document, CAST(${text} AS TEXT))`
  const none = allOf(necessary.map((text) => sql`${at(text)} = 0`))
  const surely = sufficient.map((text) => sql`WHEN ${at(text)} > 0 THEN TRUE `)
  return sql`CASE WHEN octet_length(document) > ${most} THEN ${exactly} WHEN ${none} THEN FALSE ${join(surely, '')}ELSE ${exactly} END`
}

/** Every second piece between quotes that no backslash takes is a string. */
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

/** Control characters never stand in JSON as they are: here they stand for the two escapes that have to do with quotes. */
function withoutQuotes(text: string): string {
  return text.replaceAll('\\\\', '\x02').replaceAll('\\"', '\x01')
}
