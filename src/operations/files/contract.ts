import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'

/** The parts of the form. `project_id` comes first, so that a file for another tenant's project is refused unread. */
export const UploadForm = z.object({
  project_id: projectId,
  file: z.string().meta({ format: 'binary', description: 'The content. Its name and type are not stored.' }),
})
export const UploadAnswer = answer('The digest that identifies the file.', { digest: z.string() })

export const ContentBody = z.object({ project_id: projectId, digest: plainText(256).min(1) })
export type ContentBody = z.output<typeof ContentBody>

export const StatsBody = z.object({ project_id: projectId })
export type StatsBody = z.output<typeof StatsBody>
export const StatsAnswer = answer('The total size of all files of the project.', {
  total_size_bytes: z.number().int(),
})
