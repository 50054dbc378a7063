import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'

const name = plainText(200).min(1)
const search = plainText(8_000).describe('The part after the question mark in the URL of the screen.')
const screen = z.enum(['calls', 'charts', 'search', 'evals', 'compare'])
const time = z.iso.datetime()

export const SavedViewPath = z.object({ view_id: plainText(128).min(1) })
export const InProject = z.object({ project_id: projectId })

export const SaveViewBody = z.object({
  project_id: projectId,
  screen,
  name: name.describe('Your view of this screen with the same name is replaced.'),
  search,
  is_shared: z.boolean().nullish().meta({
    default: false,
    description: 'Whether all users of the project can see the view.',
  }),
})
export type SaveViewBody = z.output<typeof SaveViewBody>

export const ChangeViewBody = z.object({
  project_id: projectId,
  name: name.optional().describe('An absent field keeps its value.'),
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
export const SavedViewsAnswer = answer('Your own views, then those that others share, sorted by name.', {
  views: z.array(SavedViewRecord),
})
export const DeletedAnswer = answer('It is deleted.', {})
