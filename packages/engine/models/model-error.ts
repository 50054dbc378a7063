import { dirname, sep } from 'node:path'

/** Why a model cannot be served: one line with what was given and what is accepted. */
export class ModelError extends Error {
  override readonly name = 'ModelError'
  /** Whether another attempt may succeed: a network that is down, a hub that is busy. */
  readonly isTemporary: boolean

  constructor(
    message: string,
    { isTemporary = false, cause }: { isTemporary?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.isTemporary = isTemporary
  }
}

const meanings: Record<string, string> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES: 'it may not be read',
  EPERM: 'it may not be read',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  ELOOP: 'its links go in a circle',
  ENAMETOOLONG: 'its name is too long',
}

/** A system error in words. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return meanings[code ?? ''] ?? message
}

/** The text for callers of the API: what happened, without the folders of these files. */
export function withoutFolders(text: string, ...files: string[]): string {
  return files.reduce((shown, file) => shown.replaceAll(`${dirname(file)}${sep}`, ''), text)
}
