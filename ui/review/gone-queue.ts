import type { Gone } from '../parts/states.tsx'
import { paths } from '../places.ts'

/** What is said where a queue was, on its own screen and on that of its review. */
export const goneQueue = (project: string): Gone => ({
  title: 'There is no such queue',
  href: paths.queues(project),
  to: 'All queues',
})
