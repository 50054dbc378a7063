import { refuse } from '../../domain/refusals.ts'
import { type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { type Command, countOf, type Reader, type Transaction } from '../transaction.ts'

const savedViews = tableOf('saved_views', {
  project_id: 'text',
  id: 'text',
  user_id: 'text',
  screen: 'text',
  name: 'text',
  search: 'text',
  is_shared: 'number',
  created_at: 'time',
  updated_at: 'time',
})

/** The state of a screen of the page that a user has saved under a name. */
export type SavedView = RowIn<typeof savedViews>

/** Of one user in a project. */
const maxSavedViews = 200
/** Shown to one user. */
const maxShown = 1_000

/** The user's own views and those shared by others, by name. */
export function savedViewsOf(db: Reader, project: string, user: string): Promise<SavedView[]> {
  return savedViews.all(
    db,
    sql`project_id = ${project} AND (user_id = ${user} OR is_shared = 1)
        ORDER BY CASE WHEN user_id = ${user} THEN 0 ELSE 1 END, name, id LIMIT ${maxShown}`,
  )
}

const viewsLock = (project: string, user: string) => `saved views of ${user} in ${project}`

/** Replaces a view of the same name of this user. Returns the view as it is now. */
export const keepSavedView: Command<SavedView, SavedView> = async (tx, view) => {
  await tx.lock(viewsLock(view.project_id, view.user_id))
  const same = await sameNamed(tx, view)
  if (same !== undefined) {
    const replacement = { ...view, id: same.id, created_at: same.created_at }
    await replaceView(tx, replacement)
    return replacement
  }
  const own = sql`saved_views WHERE project_id = ${view.project_id} AND user_id = ${view.user_id}`
  if ((await countOf(tx, own)) >= maxSavedViews) {
    throw refuse('too_many_saved_views', { limit: maxSavedViews, project: view.project_id })
  }
  await savedViews.insert(tx, [view])
  return view
}

type Named = Pick<SavedView, 'project_id' | 'user_id' | 'screen' | 'name'>

function sameNamed(db: Reader, { project_id, user_id, screen, name }: Named) {
  return db.get<Pick<SavedView, 'id' | 'created_at'>>(
    sql`SELECT id, created_at FROM saved_views WHERE project_id = ${project_id} AND user_id = ${user_id}
        AND screen = ${screen} AND name = ${name}`,
  )
}

const replaceView = (tx: Transaction, view: SavedView) =>
  savedViews.update(tx, view, ['name', 'search', 'is_shared', 'updated_at'], oneView(view))

const oneView = ({ project_id, id }: Pick<SavedView, 'project_id' | 'id'>): Sql =>
  sql`project_id = ${project_id} AND id = ${id}`

interface Key {
  project_id: string
  id: string
  /** The user who makes the request. */
  user: string
}

interface SavedViewChange extends Key {
  /** Absent fields are left as they are. */
  change: Partial<Pick<SavedView, 'name' | 'search' | 'is_shared'>>
  now: number
}

/** Returns the view after the change. */
export const changeSavedView: Command<SavedViewChange, SavedView> = async (tx, { change, now, ...key }) => {
  await tx.lock(viewsLock(key.project_id, key.user))
  const view = { ...(await ownView(tx, key)), ...change, updated_at: now }
  const same = await sameNamed(tx, view)
  if (same !== undefined && same.id !== view.id) {
    throw refuse('saved_view_exists', { field: 'name', received: view.name, view: same.id })
  }
  await replaceView(tx, view)
  return view
}

export const deleteSavedView: Command<Key, void> = async (tx, key) => {
  await tx.lock(viewsLock(key.project_id, key.user))
  await ownView(tx, key)
  await tx.run(sql`DELETE FROM saved_views WHERE ${oneView(key)}`)
}

/** Has the shared views of removed users, which whoever may write to the project may change. */
export const nobody = ''

/** Private views of other users count as missing. */
async function ownView(db: Reader, { project_id, id, user }: Key): Promise<SavedView> {
  const view = await savedViews.get(db, sql`project_id = ${project_id} AND id = ${id}`)
  const values = { field: 'view_id', view: id, project: project_id }
  if (view !== undefined && [user, nobody].includes(view.user_id)) return view
  throw view?.is_shared === 1
    ? refuse('saved_view_of_other', { ...values, user: view.user_id })
    : refuse('saved_view_not_found', values)
}
