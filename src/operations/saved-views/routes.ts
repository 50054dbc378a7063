import { family, operation } from '../parts.ts'
import {
  ChangeViewBody,
  DeletedAnswer,
  InProject,
  SavedViewAnswer,
  SavedViewPath,
  SavedViewsAnswer,
  SavedViewsBody,
  SaveViewBody,
} from './contract.ts'
import { changeView, deleteView, listViews, saveView } from './saved-views.ts'

const tags = ['views']

export const savedViewRoutes = family(
  operation('POST', '/views/saved', {
    right: 'write',
    summary: 'Save the settings of a screen under a name',
    tags,
    body: SaveViewBody,
    answer: SavedViewAnswer,
    refusals: ['too_many_saved_views'],
    rule: ({ db }, { caller, body }) => saveView(db, caller, body),
  }),
  operation('POST', '/views/saved/query', {
    right: 'read',
    summary: 'List your own and the shared views of a project',
    tags,
    body: SavedViewsBody,
    answer: SavedViewsAnswer,
    rule: ({ db }, { caller, body }) => listViews(db, caller, body),
  }),
  operation('PUT', '/views/saved/:view_id', {
    right: 'write',
    summary: 'Rename, replace or share one of your views',
    tags,
    params: SavedViewPath,
    body: ChangeViewBody,
    answer: SavedViewAnswer,
    refusals: ['saved_view_not_found', 'saved_view_of_other', 'saved_view_exists'],
    rule: ({ db }, { caller, body, params }) => changeView(db, caller, params.view_id, body),
  }),
  operation('DELETE', '/views/saved/:view_id', {
    right: 'write',
    summary: 'Delete one of your views',
    tags,
    params: SavedViewPath,
    querystring: InProject,
    answer: DeletedAnswer,
    refusals: ['saved_view_not_found', 'saved_view_of_other'],
    rule: ({ db }, { caller, params, query }) => deleteView(db, caller, query.project_id, params.view_id),
  }),
)
