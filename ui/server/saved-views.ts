import type { SavedViewRecord } from '../../src/operations/saved-views/contract.ts'
import { askJson } from './ask.ts'

export type SavedView = SavedViewRecord

type One = { view: SavedView }

export async function readSavedViews(project: string, signal: AbortSignal): Promise<SavedView[]> {
  const body = { project_id: project }
  return (await askJson<{ views: SavedView[] }>('/saved_views/query', { body, signal })).views
}

export const saveView = (
  project: string,
  view: Pick<SavedView, 'screen' | 'name' | 'search' | 'is_shared'>,
) => askJson<One>('/saved_views', { body: { project_id: project, ...view } })

export const changeView = (
  project: string,
  id: string,
  change: Partial<Pick<SavedView, 'name' | 'search' | 'is_shared'>>,
) =>
  askJson<One>(`/saved_views/${encodeURIComponent(id)}`, {
    method: 'PUT',
    body: { project_id: project, ...change },
  })

export const deleteView = (project: string, id: string) =>
  askJson(`/saved_views/${encodeURIComponent(id)}?project_id=${encodeURIComponent(project)}`, {
    method: 'DELETE',
  })
