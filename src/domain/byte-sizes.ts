const units: Record<string, number> = { MiB: 1024 ** 2, GiB: 1024 ** 3, MB: 1e6, GB: 1e9 }

/** `4GiB`, `500 MB`, or a number of bytes. */
export function bytesOf(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?) ?(MiB|GiB|MB|GB)?$/.exec(text) ?? []
  return number === undefined ? undefined : Math.floor(Number(number) * (units[unit] ?? 1))
}

/** For what is cached of prompts on disk: 0 means nothing. */
export function diskSizeOf(text: string): number | undefined {
  if (text === 'off' || text === '0') return 0
  const bytes = bytesOf(text)
  return bytes !== undefined && bytes >= 1024 ** 2 && bytes < 2 ** 50 ? bytes : undefined
}

/** `auto` leaves the size to the model and the machine. */
export function cacheSizeOf(text: string): number | 'auto' | undefined {
  return text === 'auto' ? text : diskSizeOf(text)
}

export const acceptedDiskSize = 'off, or at least 1MiB, such as 20GiB or a number of bytes'
export const acceptedCacheSize = 'auto, off, or at least 1MiB, such as 4GiB or a number of bytes'
