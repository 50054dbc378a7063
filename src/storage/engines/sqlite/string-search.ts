import type { Database } from 'better-sqlite3'
import { stringEnd } from '../../../domain/expressions/json-value.ts'
import { allOf, join, type Sql, sql, trusted } from '../../sql/sql.ts'
import type { StringSearch } from '../../sql/string-search.ts'

/** More texts are found faster by one pass that knows them all. */
const mostOneByOne = 16

/** Bytes that SQLite searches, a row for each of the texts, before one pass has less to do. */
const searched = 8 << 20

/** What most rows hold, SQLite itself can say of a small row. */
export function containsStringIn(column: Sql, { whole, starts, necessary, sufficient }: StringSearch): Sql {
  const exactly = sql`heddle_contains_string(${column}, ${JSON.stringify({ whole, starts })}) = 1`
  if (necessary.length > mostOneByOne || necessary.includes('')) return sql`(${exactly})`
  const most = trusted(String(Math.floor(searched / necessary.length)))
  const none = allOf(necessary.map((text) => sql`instr(${column}, ${text}) = 0`))
  const surely = sufficient.map((text) => sql`WHEN instr(${column}, ${text}) > 0 THEN TRUE `)
  return sql`(CASE WHEN octet_length(${column}) > ${most} THEN ${exactly} WHEN ${none} THEN FALSE ${join(surely, '')}ELSE ${exactly} END)`
}

type Texts = Pick<StringSearch, 'whole' | 'starts'>

/** Strings between two questions whether the query is still wanted. */
const stringsAtOnce = 4_096

export function registerStringSearch(db: Database, going: () => void): void {
  let last: { text: string; isFound: (content: string) => boolean } | undefined

  function matcherFor(text: string): (content: string) => boolean {
    if (last?.text !== text) last = { text, isFound: matcherOf(JSON.parse(text) as Texts) }
    return last.isFound
  }

  db.function(
    'heddle_contains_string',
    { deterministic: true, directOnly: true },
    (json: unknown, text: unknown) => {
      if (typeof json !== 'string') return null
      const isFound = matcherFor(text as string)
      let count = 0
      for (let at = json.indexOf('"'); at !== -1; ) {
        if (++count % stringsAtOnce === 0) going()
        const end = stringEnd(json, at)
        if (isFound(json.slice(at + 1, end - 1))) return 1
        at = json.indexOf('"', end)
      }
      return 0
    },
  )
}

function matcherOf({ whole, starts }: Texts): (content: string) => boolean {
  const all = new Set(whole)
  const longest = Math.max(0, ...whole.map(({ length }) => length))
  const begin = new Set(starts)
  const lengths = [...new Set(starts.map(({ length }) => length))].sort((a, b) => a - b)
  return (content) => {
    if (content.length <= longest && all.has(content)) return true
    for (const length of lengths) {
      if (length > content.length) return false
      if (begin.has(content.slice(0, length))) return true
    }
    return false
  }
}
