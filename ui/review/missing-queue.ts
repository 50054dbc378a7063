import type { MissingNotice } from '../parts/states.tsx'
import { paths } from '../routes.ts'

/** Shown on the screens of a queue and of its review when the queue does not exist. */
export const missingQueue = (project: string): MissingNotice => ({
  title: 'Queue not found',
  href: paths.queues(project),
  to: 'All queues',
})
