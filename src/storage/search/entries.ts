import { digestOf } from '../../domain/digests.ts'
import type { Term } from '../../domain/search/search-text.ts'
import { insertInto } from '../sql/inserts.ts'
import { join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'

export interface Entry {
  call: string
  /** The searchable words of the call, separated by single spaces. */
  words: string
  /** Of its values, see domain/search/values.ts. */
  keys: readonly string[]
}

/** Where the engines differ: SQLite has a separate index of words, PostgreSQL an index on a column of the table. */
interface Entries {
  put(tx: Transaction, project: string, entries: readonly Entry[]): Promise<void>
  remove(tx: Transaction, project: string, calls: readonly string[]): Promise<void>
  /** Removes some entries of all projects. Returns whether there are more. */
  drop(tx: Transaction, limit: number): Promise<boolean>
  /** How many of the newest entries a search reads before all with its words, or 0. */
  window(db: Reader, project: string, terms: readonly Term[]): Promise<number>
  /** The calls that match all terms; with a window, only those with the newest of the entries before this one. */
  matching(project: string, terms: readonly Term[], before: number | undefined, window?: number): Matching
  /** Entries, as a table `found (id)`, with one key of each of these lists, and those that were written without keys. */
  withKeys(project: string, keys: readonly (readonly string[])[]): Sql
  /** Whether they are known to be more, where reading up to a limit costs as much as reading them all. */
  areMore(db: Reader, project: string, keys: readonly (readonly string[])[], limit: number): Promise<boolean>
  /** A condition that a call is one of these. */
  isAmong(calls: readonly string[]): Sql
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
const projectWord = (project: string) => `${digestOf(project).slice(0, 16).toLowerCase()}q`
/** That of entries without keys, from before values had any. */
const keylessWord = (project: string) => `${digestOf(project).slice(0, 16).toLowerCase()}p`

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
    await removeWords(
      tx,
      found.map(({ doc }) => doc),
    )
    const rows = entries.map(({ call, words, keys }) => [
      docs.get(call) as number,
      [projectWord(project), ...keys].join(' '),
      words,
    ])
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
  window: async () => 0,
  matching(project, terms, before) {
    const own = `project : ("${projectWord(project)}" OR "${keylessWord(project)}")`
    const maxWords = Math.floor(maxLongerWords / Math.max(1, terms.filter(({ isOpen }) => isOpen).length))
    const matches = (asExcluded: boolean) =>
      terms.filter(({ isExcluded }) => isExcluded === asExcluded).map((term) => matchOf(term, maxWords))
    const excluded = matches(true)
    const all = join([sql`${own}`, ...matches(false)], " || ' AND ' || ")
    const match =
      excluded.length === 0
        ? all
        : sql`'(' || ${all} || ') NOT (' || ${join(excluded, " || ' OR ' || ")} || ')'`
    const last = before === undefined ? rawSql('') : sql` AND search_words.rowid < ${before}`
    // The word index is read from its end, and only as far as the page needs.
    return {
      from: rawSql('search_words CROSS JOIN calls'),
      condition: sql`search_words MATCH (${match})${last} AND calls.project_id = ${project} AND calls.id =
        (SELECT call_id FROM search_entries WHERE doc = search_words.rowid AND project_id = ${project})`,
      doc: rawSql('search_words.rowid'),
    }
  },
  withKeys(project, keys) {
    const having = keys.map((list) => `(${list.map((key) => `"${key}"`).join(' OR ')})`)
    const match = `project : ("${keylessWord(project)}"${having.length > 0 ? ` OR (${having.join(' AND ')})` : ''})`
    return sql`(SELECT call_id AS id FROM search_words CROSS JOIN search_entries ON doc = search_words.rowid
      WHERE search_words MATCH ${match} AND project_id = ${project}) AS found`
  },
  areMore: async () => false,
  // Of a list of parameters, SQLite estimates that reading the whole project is cheaper.
  isAmong: (calls) => sql`calls.id IN (SELECT value FROM json_each(${JSON.stringify(calls)}))`,
}

/** Words that stand for the prefixes of a search. With more, whoever reads to the end would wait for longer. */
const maxLongerWords = 256

/**
 * What FTS5 has to match for a term. Of a prefix it reads all entries before it finds the first, so the words that begin
 * with it are named instead, whose entries are read as far as the page needs. A part of the statement, so that no word is
 * written meanwhile.
 */
function matchOf({ words, isOpen }: Term, maxWords: number): Sql {
  const exact = `words : "${words.join(' ')}"`
  if (!isOpen) return sql`${exact}`
  const prefix = words.at(-1) as string
  const phrase = `"${words.slice(0, -1).join(' ')} `
  const firstFrom = (from: Sql) =>
    sql`(SELECT term FROM search_vocabulary WHERE term >= ${from} AND term < ${`${prefix}\u{10ffff}`} LIMIT 1)`
  return sql`(WITH RECURSIVE longer (word) AS (SELECT ${firstFrom(sql`${prefix}`)} UNION ALL
      SELECT ${firstFrom(rawSql('word || char(1)'))} FROM longer WHERE word IS NOT NULL LIMIT ${maxWords + 1})
    SELECT iif(count(word) BETWEEN 1 AND ${maxWords},
      'words : (' || group_concat(${phrase} || word || '"', ' OR ') || ')', ${`${exact} *`}) FROM longer)`
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
    const rows = entries.map((entry) => [project, entry.call, vectorOf(project, entry)])
    for (const statement of insertVector(rows)) await tx.run(statement)
  },
  async remove(tx, project, calls) {
    await tx.run(
      sql`DELETE FROM search_entries WHERE project_id = ${project} AND call_id IN (${listOf(calls)})`,
    )
  },
  drop: async (tx, limit) => (await dropSome(tx, limit)) === limit,
  async window(db, project, terms) {
    const found = sql`(SELECT call_id AS id FROM search_entries WHERE project_id = ${project} AND ${isMatch(terms)}) AS found`
    return (await estimateOf(db, found)) > maxSorted ? maxNewest : 0
  },
  matching(project, terms, before, window) {
    const isFound = isMatch(terms, `('${projectWord(project)}' | '${keylessWord(project)}') & `)
    const own = (doc: Sql) =>
      sql`search_entries WHERE project_id = ${project}${before === undefined ? rawSql('') : sql` AND ${doc} < ${before}`}`
    const newest = sql`SELECT doc AS found_doc, call_id AS found_call FROM (SELECT doc, call_id, words
      FROM ${own(rawSql('doc'))} ORDER BY doc DESC LIMIT ${rawSql(String(window))}) AS newest WHERE ${isFound}`
    // Not by `doc` as it is: to find a rare word, its index would be read through the whole project.
    const all = sql`SELECT doc + 0 AS found_doc, call_id AS found_call FROM ${own(rawSql('doc + 0'))} AND ${isFound}`
    return {
      from: sql`(${window === undefined ? all : newest}) AS found CROSS JOIN calls`,
      condition: sql`calls.project_id = ${project} AND calls.id = found_call`,
      doc: rawSql('found_doc'),
    }
  },
  withKeys(project, keys) {
    const having = keys.map((list) => `(${list.map(keyLexeme).join(' | ')})`)
    const match = [`'${keylessWord(project)}'`, ...(having.length > 0 ? [`(${having.join(' & ')})`] : [])]
    return sql`(SELECT call_id AS id FROM search_entries WHERE project_id = ${project}
      AND words @@ CAST(CAST(${match.join(' | ')} AS TEXT) AS tsquery)) AS found`
  },
  async areMore(db, project, keys, limit) {
    const estimate = await estimateOf(db, this.withKeys(project, keys))
    if (estimate <= limit) return false
    // Of a word that statistics do not know, PostgreSQL assumes a share of all entries.
    for (const list of keys.slice(0, maxEstimated)) {
      const unknown = list.map(() => 'unknown')
      const isKnown =
        (await estimateOf(db, this.withKeys(project, [list]))) >
        (await estimateOf(db, this.withKeys(project, [unknown])))
      if (!isKnown) return false
    }
    return true
  },
  isAmong: (calls) =>
    sql`calls.id = ANY (ARRAY(SELECT json_array_elements_text(CAST(${JSON.stringify(calls)} AS JSON))))`,
}

/** Conditions of a query that are estimated one by one. */
const maxEstimated = 8

async function estimateOf(db: Reader, found: Sql): Promise<number> {
  const row = await db.get<{ 'QUERY PLAN': unknown }>(sql`EXPLAIN (FORMAT JSON) SELECT id FROM ${found}`)
  const plan = row?.['QUERY PLAN']
  const [planned] = (typeof plan === 'string' ? JSON.parse(plan) : plan) as [
    { Plan: { 'Plan Rows': number } },
  ]
  return planned.Plan['Plan Rows']
}

/** With no more matches than these, the index is faster than the newest entries, of which each has to be unpacked. */
const maxSorted = 1_000
const maxNewest = 2_000

function isMatch(terms: readonly Term[], own = ''): Sql {
  const written = terms.map(({ words, isOpen, isExcluded }) => {
    const phrase = words.map((word) => `'${word}'`).join(' <-> ')
    return `${isExcluded ? '!' : ''}(${phrase}${isOpen ? ':*' : ''})`
  })
  return sql`words @@ CAST(CAST(${own + written.join(' & ')} AS TEXT) AS tsquery)`
}

/** No word has such a sign, so that no search finds keys. */
const keyLexeme = (key: string) => `'=${key}'`

/**
 * The positions that a tsvector can store, and how many of one word
 * (https://www.postgresql.org/docs/current/textsearch-limitations.html).
 */
const lastPosition = 16_383
const maxPositions = 255

/** Built by hand: PostgreSQL's parser finds addresses, numbers and tags where SQLite finds words. */
function vectorOf(project: string, { words, keys }: Entry): string {
  const positions = new Map<string, number[]>()
  let position = 0
  for (const word of words.split(' ')) {
    if (word === '') continue
    position = Math.min(lastPosition, position + 1)
    const known = positions.get(word)
    if (known === undefined) positions.set(word, [position])
    else if (known.length < maxPositions && known.at(-1) !== position) known.push(position)
  }
  let vector = [`'${projectWord(project)}'`, ...keys.map(keyLexeme)].join(' ')
  for (const [word, known] of positions) vector += ` '${word}':${known.join(',')}`
  return vector
}
