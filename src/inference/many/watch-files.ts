import { stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Calls `changed` when one of the files is another than before. They are looked at again and again: what the system tells of
 * changes gets lost where files are exchanged, linked or mounted. A file that is being written is waited for.
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
      // Another list may be read from other files.
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
