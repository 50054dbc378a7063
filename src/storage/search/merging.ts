import { rawSql, sql } from '../sql/sql.ts'
import type { Command } from '../transaction.ts'
import { searchLock } from './indexing.ts'

/** Pages that a step writes. */
const pagesAtOnce = 64

/**
 * SQLite's word index keeps the words of removed entries until its parts are merged. Merges them all into one, a step at a
 * time. Returns whether there is more to do. PostgreSQL has no such index.
 */
export const mergeSearch: Command<{ isFirst: boolean }, boolean> = async (tx, { isFirst }) => {
  if (tx.dialect.engine !== 'sqlite') return false
  await tx.lock(searchLock)
  const changes = async () =>
    (await tx.get<{ all: number }>(rawSql('SELECT total_changes() AS "all"')))?.all ?? 0
  const before = await changes()
  // A negative number begins the merge of everything (https://www.sqlite.org/fts5.html#the_merge_command).
  const pages = isFirst ? -pagesAtOnce : pagesAtOnce
  await tx.run(sql`INSERT INTO search_words (search_words, rank) VALUES ('merge', ${pages})`)
  return (await changes()) - before >= 2
}
