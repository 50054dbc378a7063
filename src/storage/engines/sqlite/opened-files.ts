import { statSync } from 'node:fs'
import { type Refusal, refuse } from '../../../domain/refusals.ts'

/** Device and inode of the database, its log and the log's index, as they were when the record was opened. */
export type OpenedFiles = readonly (string | undefined)[]

// The database last, and its loss counts most: a folder that is renamed while they are checked takes all three.
const suffixes = ['-shm', '-wal', '']

/** Call this while a connection is open that has already read: before that there is no log. */
export function openedFiles(file: string): OpenedFiles {
  return suffixes.map((suffix) => identityOf(`${file}${suffix}`))
}

/**
 * What has happened to the files since they were opened, or undefined. SQLite does not check: it continues to write to
 * files that can no longer be found (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
export function lossOf(file: string, opened: OpenedFiles): FileLoss | undefined {
  let loss: FileLoss | undefined
  for (const [i, suffix] of suffixes.entries()) {
    const path = `${file}${suffix}`
    const found = identityOf(path)
    if (found === opened[i] || found === 'unknown') continue
    const what =
      found === undefined ? 'is gone: it was removed, or its folder was' : 'is now a different file'
    loss = { text: `${path} ${what}`, isLogMissing: suffix !== '' && found === undefined }
  }
  return loss
}

export interface FileLoss {
  text: string
  /** The database file is still ours, and the contents of its log can still be copied into it. */
  isLogMissing: boolean
}

function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found && `${found.dev}:${found.ino}`
  } catch {
    // A folder that can no longer be searched, or a mount that does not answer: the open files still work.
    return 'unknown'
  }
}

export function refuseLost({ text }: FileLoss): Refusal {
  const refusal = refuse('storage_replaced')
  refusal.cause = new Error(text)
  return refusal
}
