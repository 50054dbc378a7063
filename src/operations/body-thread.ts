import { serveBodies } from '../http/body-thread.ts'
import { bodyContracts } from './body-contracts.ts'

/** Where `startThread` finds this file, before and after the build. */
export const bodyThread = import.meta.url

/** What the thread does that reads large bodies. */
export function serve(): void {
  serveBodies(bodyContracts)
}
