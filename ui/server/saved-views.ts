import type { SavedViewRecord } from '../../src/operations/saved-views/contract.ts'
import { requestJson } from './request.ts'

export type SavedView = SavedViewRecord

type One = { view: SavedView }

export async function readSavedViews(project: string, signal: AbortSignal): Promise<SavedView[]> {
  const body = { project_id: project }
  return (await requestJson<{ views: SavedView[] }>('/views/saved/query', { body, signal })).views
}

export const saveView = (
  project: string,
  view: Pick<SavedView, 'screen' | 'name' | 'search' | 'is_shared'>,
) => requestJson<One>('/views/saved', { body: { project_id: project, ...view } })

export const changeView = (
  project: string,
  id: string,
  change: Partial<Pick<SavedView, 'name' | 'search' | 'is_shared'>>,
) =>
  requestJson<One>(`/views/saved/${encodeURIComponent(id)}`, {
    method: 'PUT',
    body: { project_id: project, ...change },
  })

export const deleteView = (project: string, id: string) =>
  requestJson(`/views/saved/${encodeURIComponent(id)}?project_id=${encodeURIComponent(project)}`, {
    method: 'DELETE',
  })
