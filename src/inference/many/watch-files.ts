import { stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Calls `changed` when one of the files has changed. They are polled, because the system's notifications get lost when
 * files are replaced, linked or mounted. While a file is being written, waits until it is complete.
 */
export async function watchFiles(
  files: () => readonly string[],
  changed: () => Promise<void>,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
): Promise<void> {
  let known = await stampOf(files())
  let last = known
  while (!signal.aborted) {
    await delay(everyMs, undefined, { ref: false, signal }).catch(() => undefined)
    if (signal.aborted) return
    const now = await stampOf(files())
    if (now !== known && now === last) {
      await changed()
      // Another list may come from other files.
      known = await stampOf(files())
      last = known
    } else last = now
  }
}

async function stampOf(files: readonly string[]): Promise<string> {
  const stamps = files.map(async (file) => {
    const found = await stat(file, { bigint: true }).catch(() => undefined)
    return found === undefined ? 'none' : `${found.mtimeNs} ${found.size} ${found.ino}`
  })
  return (await Promise.all(stamps)).join('\n')
}
