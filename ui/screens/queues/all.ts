/** The screens of review queues. Who opens one soon opens another, so they are one file. */

export { QueueScreen } from '../queue/screen.tsx'
export { ReviewScreen } from '../review/screen.tsx'
export { QueuesScreen } from './screen.tsx'
