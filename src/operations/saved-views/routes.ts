import { type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { type SavedView, savedViewsOf } from '../../storage/views/saved-views.ts'
import { family, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'

const operation = operationsUnder('views')

export const savedViewRoutes = family(
  operation('POST', '/views/saved', {
    right: 'write',
    summary: 'Save the settings of a screen under a name',
    body: contract.SaveViewBody,
    answer: contract.SavedViewAnswer,
    refusals: ['too_many_saved_views'],
    rule: ({ db }, { caller, body }) => saveView(db, caller, body),
  }),
  operation('POST', '/views/saved/query', {
    right: 'read',
    summary: 'List your own and the shared views of a project',
    body: contract.SavedViewsBody,
    answer: contract.SavedViewsAnswer,
    rule: ({ db }, { caller, body }) => listViews(db, caller, body),
  }),
  operation('PUT', '/views/saved/:view_id', {
    right: 'write',
    summary: 'Rename, replace or share one of your views',
    params: contract.SavedViewPath,
    body: contract.ChangeViewBody,
    answer: contract.SavedViewAnswer,
    refusals: ['saved_view_not_found', 'saved_view_of_other', 'saved_view_exists'],
    rule: ({ db }, { caller, body, params }) => changeView(db, caller, params.view_id, body),
  }),
  operation('DELETE', '/views/saved/:view_id', {
    right: 'write',
    summary: 'Delete one of your views',
    params: contract.SavedViewPath,
    querystring: contract.InProject,
    answer: contract.DeletedAnswer,
    refusals: ['saved_view_not_found', 'saved_view_of_other'],
    rule: ({ db }, { caller, params, query }) => deleteView(db, caller, query.project_id, params.view_id),
  }),
)

async function listViews(db: Database, caller: Caller, { project_id }: contract.SavedViewsBody) {
  requireAccess(caller, project_id)
  const views = await savedViewsOf(db, project_id, caller.name)
  return { views: views.map((view) => recordOf(view, caller)) }
}

async function saveView(db: Database, caller: Caller, body: contract.SaveViewBody) {
  const { project_id, screen, name, search } = body
  requireAccess(caller, project_id)
  const time = now()
  const view: SavedView = {
    ...{ project_id, id: newId(), user_id: caller.name, screen, name, search },
    ...{ is_shared: body.is_shared ? 1 : 0, created_at: time, updated_at: time },
  }
  return { view: recordOf(await db.write('keepSavedView', view), caller) }
}

async function changeView(db: Database, caller: Caller, id: string, body: contract.ChangeViewBody) {
  const { project_id, name, search, is_shared } = body
  requireAccess(caller, project_id)
  const change = {
    ...(name !== undefined && { name }),
    ...(search !== undefined && { search }),
    ...(is_shared !== undefined && { is_shared: is_shared ? 1 : 0 }),
  }
  const view = await db.write('changeSavedView', { project_id, id, user: caller.name, change, now: now() })
  return { view: recordOf(view, caller) }
}

async function deleteView(db: Database, caller: Caller, project_id: string, id: string) {
  requireAccess(caller, project_id)
  await db.write('deleteSavedView', { project_id, id, user: caller.name })
}

function recordOf(view: SavedView, caller: Caller): contract.SavedViewRecord {
  return {
    id: view.id,
    screen: view.screen,
    name: view.name,
    search: view.search,
    is_shared: view.is_shared === 1,
    is_own: view.user_id === caller.name,
    svc_user_id: view.user_id,
    created_at: formatTime(view.created_at),
    updated_at: formatTime(view.updated_at),
  }
}
