import { allOf, join, rawSql, type Sql, sql } from './sql.ts'

/** Texts to search for among the strings of JSON, in every spelling that JSON writers use. */
export interface StringSearch {
  /** Complete strings, without their quotes. */
  whole: readonly string[]
  /** Beginnings of strings. */
  starts: readonly string[]
  /** One for each text, common to all its spellings: if none of these occurs, none of the texts does. */
  necessary: readonly string[]
  /** If one of these occurs, so does one of the texts: the spelling of most documents. */
  sufficient: readonly string[]
}

export function stringSearch(texts: readonly string[], starts: readonly string[]): StringSearch {
  const plain = [...texts.map((text) => `${written(text)}"`), ...starts.map(written)]
  return {
    whole: texts.flatMap(spellingsOf),
    starts: starts.flatMap(spellingsOf),
    necessary: plain.map(commonPart),
    // After a colon a quote begins a string, unless what follows it could stand between two strings.
    sufficient: plain.filter((text) => /^[^,:}\]]/.test(text)).map((text) => `:"${text}`),
  }
}

function written(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Plain or ASCII only, with hex digits of either case, with slashes escaped or not. */
function spellingsOf(text: string): string[] {
  const plain = written(text)
  const ascii = (write: (hex: string) => string) =>
    plain.replace(/[^\0-~]/g, (unit) => `\\u${write(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`)
  const spellings = [plain, ascii((hex) => hex), ascii((hex) => hex.toUpperCase())]
  return [...new Set(spellings.flatMap((spelling) => [spelling, spelling.replaceAll('/', '\\/')]))]
}

/** The last part of the text that is the same in every spelling. */
function commonPart(plain: string): string {
  return plain.split(/[^\0-.0-~]+/).findLast((run) => run !== '') ?? ''
}

/** With more texts, one pass that knows them all is faster. */
const maxOneByOne = 16

/** Bytes to search, counted once per text, beyond which a single pass is cheaper. */
const maxSearchedBytes = 8 << 20

/**
 * Whether the document contains one of the strings. Small rows are first searched for plain texts, which decides most
 * of them. `exactly` is the pass that reads the strings, and `position` returns where a text is in the document, or 0.
 */
export function searchIn(
  document: Sql,
  { necessary, sufficient }: StringSearch,
  exactly: Sql,
  position: (text: string) => Sql,
): Sql {
  if (necessary.length > maxOneByOne || necessary.includes('')) return exactly
  const most = rawSql(String(Math.floor(maxSearchedBytes / necessary.length)))
  const none = allOf(necessary.map((text) => sql`${position(text)} = 0`))
  const surely = sufficient.map((text) => sql`WHEN ${position(text)} > 0 THEN TRUE `)
  return sql`(CASE WHEN octet_length(${document}) > ${most} THEN ${exactly} WHEN ${none} THEN FALSE ${join(surely, '')}ELSE ${exactly} END)`
}
