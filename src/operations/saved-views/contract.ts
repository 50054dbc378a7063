import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'

const name = plainText(200).min(1)
const search = plainText(8_000).meta({
  description: 'What stands behind the question mark in the address of the screen.',
})
const screen = z.enum(['calls', 'charts', 'search', 'evals', 'compare'])
const time = z.iso.datetime()

export const SavedViewPath = z.object({ view_id: plainText(128).min(1) })
export const InProject = z.object({ project_id: projectId })

export const SaveViewBody = z.object({
  project_id: projectId,
  screen,
  name: name.meta({ description: 'What you have of the screen under this name is replaced.' }),
  search,
  is_shared: z.boolean().nullish().meta({
    default: false,
    description: 'Whether everybody who reaches the project sees it.',
  }),
})
export type SaveViewBody = z.output<typeof SaveViewBody>

export const ChangeViewBody = z.object({
  project_id: projectId,
  name: name.optional().meta({ description: 'What is absent stays as it is.' }),
  search: search.optional(),
  is_shared: z.boolean().optional(),
})
export type ChangeViewBody = z.output<typeof ChangeViewBody>

export const SavedViewsBody = z.object({ project_id: projectId })
export type SavedViewsBody = z.output<typeof SavedViewsBody>

export const SavedViewRecord = z.object({
  id: z.string(),
  screen: z.string(),
  name: z.string(),
  search: z.string(),
  is_shared: z.boolean(),
  is_own: z.boolean(),
  svc_user_id: z.string(),
  created_at: time,
  updated_at: time,
})
export type SavedViewRecord = z.output<typeof SavedViewRecord>

export const SavedViewAnswer = answer('The view.', { view: SavedViewRecord })
export const SavedViewsAnswer = answer('Your own views, then those that others share, by their names.', {
  views: z.array(SavedViewRecord),
})
export const NothingAnswer = answer('It is gone.', {})
