import { Session } from 'node:inspector/promises'

/** Where a thread finds this file, before and after the build. */
export const forgettingStart = import.meta.url

/**
 * What starting a process or a thread has left behind is collected, and its pages go back: V8 would keep both until an idle
 * server has allocated as much again.
 */
export async function forgetStarting(): Promise<void> {
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
