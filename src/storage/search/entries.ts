import { digestOf } from '../../domain/digests.ts'
import type { Term } from '../../domain/search/search-text.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'

/** The searchable words of a call, separated by single spaces. */
export interface Entry {
  call: string
  words: string
}

/** Where the engines differ: SQLite has a separate index of words, PostgreSQL an index on a column of the table. */
interface Entries {
  put(tx: Transaction, project: string, entries: readonly Entry[]): Promise<void>
  remove(tx: Transaction, project: string, calls: readonly string[]): Promise<void>
  /** Removes some entries of all projects. Returns whether there are more. */
  drop(tx: Transaction, limit: number): Promise<boolean>
  /** The calls that match all terms. */
  matching(project: string, terms: readonly Term[], before: number | undefined): Matching
}

interface Matching {
  /** What follows FROM. None of its columns has the name of a column of calls. */
  from: Sql
  condition: Sql
  /** The column by which entries are ordered. */
  doc: Sql
}

export const entriesOf = ({ dialect }: Pick<Reader, 'dialect'>): Entries =>
  dialect.engine === 'sqlite' ? sqlite : postgres

/** One word per project, so that a search does not scan the entries of other projects. */
const projectWord = (project: string) => `${digestOf(project).slice(0, 16).toLowerCase()}p`

const insertEntry = insertInto(
  'search_entries',
  ['project_id', 'call_id'],
  'ON CONFLICT (project_id, call_id) DO NOTHING',
)
const insertWords = insertInto('search_words', ['rowid', 'project', 'words'])

const sqlite: Entries = {
  async put(tx, project, entries) {
    for (const statement of insertEntry(entries.map(({ call }) => [project, call]))) await tx.run(statement)
    const ids = entries.map(({ call }) => call)
    const found = await tx.all<{ doc: number; call_id: string }>(
      sql`SELECT doc, call_id FROM search_entries WHERE project_id = ${project} AND call_id IN (${listOf(ids)})`,
    )
    const docs = new Map(found.map(({ doc, call_id }) => [call_id, doc]))
    const word = projectWord(project)
    await removeWords(
      tx,
      found.map(({ doc }) => doc),
    )
    const rows = entries.map(({ call, words }) => [docs.get(call) as number, word, words])
    for (const statement of insertWords(rows)) await tx.run(statement)
  },
  async remove(tx, project, calls) {
    const gone = await tx.all<{ doc: number }>(
      sql`DELETE FROM search_entries WHERE project_id = ${project} AND call_id IN (${listOf(calls)}) RETURNING doc`,
    )
    await removeWords(
      tx,
      gone.map(({ doc }) => doc),
    )
  },
  async drop(tx, limit) {
    await tx.run(rawSql("INSERT INTO search_words (search_words) VALUES ('delete-all')"))
    return (await dropSome(tx, limit)) === limit
  },
  matching(project, terms, before) {
    const written = terms.map(({ words, isOpen, isExcluded }) => ({
      isExcluded,
      text: `words : "${words.join(' ')}"${isOpen ? ' *' : ''}`,
    }))
    const wanted = written.filter(({ isExcluded }) => !isExcluded).map(({ text }) => text)
    const excluded = written.filter(({ isExcluded }) => isExcluded).map(({ text }) => text)
    const all = [`project : "${projectWord(project)}"`, ...wanted].join(' AND ')
    const match = excluded.length === 0 ? all : `(${all}) NOT (${excluded.join(' OR ')})`
    const last = before === undefined ? rawSql('') : sql` AND search_words.rowid < ${before}`
    // The word index is read from its end, and only as far as the page needs.
    return {
      from: rawSql('search_words CROSS JOIN calls'),
      condition: sql`search_words MATCH ${match}${last} AND calls.project_id = ${project} AND calls.id =
        (SELECT call_id FROM search_entries WHERE doc = search_words.rowid AND project_id = ${project})`,
      doc: rawSql('search_words.rowid'),
    }
  },
}

async function removeWords(tx: Transaction, docs: readonly number[]): Promise<void> {
  if (docs.length > 0) await tx.run(sql`DELETE FROM search_words WHERE rowid IN (${listOf(docs)})`)
}

function dropSome(tx: Transaction, limit: number): Promise<number> {
  return tx.run(
    sql`DELETE FROM search_entries WHERE (project_id, call_id) IN (SELECT project_id, call_id FROM search_entries LIMIT ${limit})`,
  )
}

const insertVector = insertInto(
  'search_entries',
  ['project_id', 'call_id', 'words'],
  'ON CONFLICT (project_id, call_id) DO UPDATE SET words = excluded.words',
)

const postgres: Entries = {
  async put(tx, project, entries) {
    const rows = entries.map(({ call, words }) => [project, call, vectorOf(project, words)])
    for (const statement of insertVector(rows)) await tx.run(statement)
  },
  async remove(tx, project, calls) {
    await tx.run(
      sql`DELETE FROM search_entries WHERE project_id = ${project} AND call_id IN (${listOf(calls)})`,
    )
  },
  drop: async (tx, limit) => (await dropSome(tx, limit)) === limit,
  matching(project, terms, before) {
    const written = terms.map(({ words, isOpen, isExcluded }) => {
      const phrase = words.map((word) => `'${word}'`).join(' <-> ')
      return `${isExcluded ? '!' : ''}(${phrase}${isOpen ? ':*' : ''})`
    })
    const match = [`'${projectWord(project)}'`, ...written].join(' & ')
    const last = before === undefined ? rawSql('') : sql` AND doc < ${before}`
    const found = sql`SELECT doc AS found_doc, call_id AS found_call FROM search_entries
      WHERE project_id = ${project} AND words @@ CAST(CAST(${match} AS TEXT) AS tsquery)${last}`
    return {
      from: sql`(${found}) AS found CROSS JOIN calls`,
      condition: sql`calls.project_id = ${project} AND calls.id = found_call`,
      doc: rawSql('found_doc'),
    }
  },
}

/**
 * The positions that a tsvector can store, and how many of one word
 * (https://www.postgresql.org/docs/current/textsearch-limitations.html).
 */
const lastPosition = 16_383
const maxPositions = 255

/** Built by hand: PostgreSQL's parser finds addresses, numbers and tags where SQLite finds words. */
function vectorOf(project: string, words: string): string {
  const positions = new Map<string, number[]>()
  let position = 0
  for (const word of words.split(' ')) {
    if (word === '') continue
    position = Math.min(lastPosition, position + 1)
    const known = positions.get(word)
    if (known === undefined) positions.set(word, [position])
    else if (known.length < maxPositions && known.at(-1) !== position) known.push(position)
  }
  let vector = `'${projectWord(project)}'`
  for (const [word, known] of positions) vector += ` '${word}':${known.join(',')}`
  return vector
}
