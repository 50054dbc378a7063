import type { Sought } from '../../sql/sought.ts'
import { allOf, join, type Sql, sql, trusted } from '../../sql/sql.ts'

/** More are looked for faster by one pass that knows them all. */
const mostOneByOne = 16

/** Bytes that are looked through, a row and each of the texts, before one pass has less to do. */
const lookedThrough = 8 << 20

/** The document is unpacked once for a row. */
export function mentionsIn(column: Sql, sought: Sought): Sql {
  return sql`(SELECT ${mentioned(sought)} FROM (SELECT ${column} || '' AS document OFFSET 0) AS unpacked)`
}

function mentioned(sought: Sought): Sql {
  const { signs, proofs } = sought
  const exactly = mentionedExactly(sought)
  if (signs.length > mostOneByOne || signs.includes('')) return exactly
  const most = trusted(String(Math.floor(lookedThrough / signs.length)))
  const place = (text: string) => sql`strpos(document, CAST(${text} AS TEXT))`
  const none = allOf(signs.map((sign) => sql`${place(sign)} = 0`))
  const proven = proofs.map((proof) => sql`WHEN ${place(proof)} > 0 THEN TRUE `)
  return sql`CASE WHEN octet_length(document) > ${most} THEN ${exactly} WHEN ${none} THEN FALSE ${join(proven, '')}ELSE ${exactly} END`
}

/** Every second piece between quotes that no backslash takes is a string. */
function mentionedExactly({ whole, starts }: Sought): Sql {
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
