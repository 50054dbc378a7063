import { flushCompileCache } from 'node:module'
import { lowerThreadPriority } from '../threads/priority.ts'
import { answerTenant } from '../threads/tenant-cache.ts'
import { portToParent } from '../threads/thread.ts'
import type { AskedBy } from '../threads/worker-pool.ts'
import type { Validation } from './validator.ts'

export interface CheckQuestion {
  schema: string
  value: string | undefined
}

export type CheckMessage = 'ready' | Validation

/** Where `startThread` finds this file, before and after the build. */
export const checksThread = import.meta.url

/** What the thread runs: it answers one question at a time. */
export async function serve(): Promise<void> {
  // Imported here, so that the thread that serves HTTP does not load a validator that it never runs.
  const { createValidator } = await import('./validator.ts')
  flushCompileCache()
  lowerThreadPriority()
  const port = portToParent()
  const validate = createValidator()
  const post = (message: CheckMessage) => port.postMessage(message)
  port.on('message', ({ schema, value, tenant }: AskedBy<CheckQuestion>) => {
    answerTenant(tenant)
    post(validate(schema, value))
  })
  post('ready')
}
