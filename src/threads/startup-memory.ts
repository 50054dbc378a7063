import { Session } from 'node:inspector/promises'

/** Where a thread finds this file, before and after the build. */
export const startupMemoryModule = import.meta.url

/**
 * Collects the garbage from starting a process or a thread, and returns its pages to the system. V8 would keep both
 * until an idle server has allocated as much again.
 */
export async function releaseStartupMemory(): Promise<void> {
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
