import type { Database } from 'better-sqlite3'
import { stringEnd } from '../../../domain/json/scan.ts'
import type { Sought } from '../../sql/sought.ts'
import { allOf, join, type Sql, sql, trusted } from '../../sql/sql.ts'

/** More are looked for faster by one pass that knows them all. */
const mostOneByOne = 16

/** Bytes that SQLite looks through, a row and each of the texts, before one pass has less to do. */
const lookedThrough = 8 << 20

/** What most rows mention, SQLite itself can say of a small row. */
export function mentionsIn(column: Sql, { whole, starts, signs, proofs }: Sought): Sql {
  const exactly = sql`heddle_mentions(${column}, ${JSON.stringify({ whole, starts })}) = 1`
  if (signs.length > mostOneByOne || signs.includes('')) return sql`(${exactly})`
  const most = trusted(String(Math.floor(lookedThrough / signs.length)))
  const none = allOf(signs.map((sign) => sql`instr(${column}, ${sign}) = 0`))
  const proven = proofs.map((proof) => sql`WHEN instr(${column}, ${proof}) > 0 THEN TRUE `)
  return sql`(CASE WHEN octet_length(${column}) > ${most} THEN ${exactly} WHEN ${none} THEN FALSE ${join(proven, '')}ELSE ${exactly} END)`
}

type Texts = Pick<Sought, 'whole' | 'starts'>

/** Strings between two questions whether the query is still wanted. */
const stringsAtOnce = 4_096

export function registerMentions(db: Database, going: () => void): void {
  let last: { text: string; isSought: (content: string) => boolean } | undefined

  function soughtBy(text: string): (content: string) => boolean {
    if (last?.text !== text) last = { text, isSought: matcherOf(JSON.parse(text) as Texts) }
    return last.isSought
  }

  db.function(
    'heddle_mentions',
    { deterministic: true, directOnly: true },
    (json: unknown, text: unknown) => {
      if (typeof json !== 'string') return null
      const isSought = soughtBy(text as string)
      let count = 0
      for (let at = json.indexOf('"'); at !== -1; ) {
        if (++count % stringsAtOnce === 0) going()
        const end = stringEnd(json, at)
        if (isSought(json.slice(at + 1, end - 1))) return 1
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
