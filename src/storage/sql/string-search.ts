import { allOf, join, type Sql, sql, trusted } from './sql.ts'

/** Texts that are searched among the strings of JSON, in every way that writers of JSON spell them. */
export interface StringSearch {
  /** What stands between the quotes. */
  whole: readonly string[]
  /** What a string begins with. */
  starts: readonly string[]
  /** One for each text, the same in all its spellings: where none of these is found, none of the texts is there. */
  necessary: readonly string[]
  /** Where one of these is found, one of the texts is there: most documents are written like this. */
  sufficient: readonly string[]
}

export function stringSearch(texts: readonly string[], starts: readonly string[]): StringSearch {
  const plain = [...texts.map((text) => `${written(text)}"`), ...starts.map(written)]
  return {
    whole: texts.flatMap(spellingsOf),
    starts: starts.flatMap(spellingsOf),
    necessary: plain.map(commonPart),
    // Behind a colon a quote begins a string, unless what follows it could stand between two strings.
    sufficient: plain.filter((text) => /^[^,:}\]]/.test(text)).map((text) => `:"${text}`),
  }
}

function written(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Plain or in ASCII, in digits of either case, with slashes escaped or not. */
function spellingsOf(text: string): string[] {
  const plain = written(text)
  const ascii = (write: (hex: string) => string) =>
    plain.replace(/[^\0-~]/g, (unit) => `\\u${write(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`)
  const spellings = [plain, ascii((hex) => hex), ascii((hex) => hex.toUpperCase())]
  return [...new Set(spellings.flatMap((one) => [one, one.replaceAll('/', '\\/')]))]
}

/** The last part of the text that every spelling has. */
function commonPart(plain: string): string {
  return plain.split(/[^\0-.0-~]+/).findLast((part) => part !== '') ?? ''
}

/** More texts are found faster by one pass that knows them all. */
const mostOneByOne = 16

/** Bytes that are searched, a row for each of the texts, before one pass has less to do. */
const mostSearched = 8 << 20

/**
 * Whether the document holds one of the strings. What most rows hold is found by plain searches of a small row; `exactly`
 * is the pass that reads the strings, and `position` tells where a text is in the document, 0 for nowhere.
 */
export function searchIn(
  document: Sql,
  { necessary, sufficient }: StringSearch,
  exactly: Sql,
  position: (text: string) => Sql,
): Sql {
  if (necessary.length > mostOneByOne || necessary.includes('')) return exactly
  const most = trusted(String(Math.floor(mostSearched / necessary.length)))
  const none = allOf(necessary.map((text) => sql`${position(text)} = 0`))
  const surely = sufficient.map((text) => sql`WHEN ${position(text)} > 0 THEN TRUE `)
  return sql`(CASE WHEN octet_length(${document}) > ${most} THEN ${exactly} WHEN ${none} THEN FALSE ${join(surely, '')}ELSE ${exactly} END)`
}
