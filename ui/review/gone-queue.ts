import type { Gone } from '../parts/states.tsx'
import { paths } from '../places.ts'

/** Shown on the screens of a queue and of its review when the queue does not exist. */
export const goneQueue = (project: string): Gone => ({
  title: 'Queue not found',
  href: paths.queues(project),
  to: 'All queues',
})
