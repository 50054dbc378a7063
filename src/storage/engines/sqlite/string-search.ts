import type { Database } from 'better-sqlite3'
import { stringEnd } from '../../../../packages/json/index.ts'
import { type Sql, sql } from '../../sql/sql.ts'
import { type StringSearch, searchIn } from '../../sql/string-search.ts'

export function containsStringIn(column: Sql, search: StringSearch): Sql {
  const { whole, starts } = search
  const exactly = sql`(heddle_contains_string(${column}, ${JSON.stringify({ whole, starts })}) = 1)`
  return searchIn(column, search, exactly, (text) => sql`instr(${column}, ${text})`)
}

type Texts = Pick<StringSearch, 'whole' | 'starts'>

/** Strings between two checks whether the query is still wanted. */
const stringsAtOnce = 4_096

export function registerStringSearch(db: Database, throwIfCancelled: () => void): void {
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
        if (++count % stringsAtOnce === 0) throwIfCancelled()
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
