import type { Connection } from './connection.ts'

/** Cuts so many free pages off the end of the file. Answers whether it helped and more are left. */
export function reclaimPages({ handle }: Connection, pages: number): boolean {
  const free = () => handle.pragma('freelist_count', { simple: true }) as number
  try {
    const before = free()
    if (before === 0) return false
    handle.pragma(`incremental_vacuum(${pages})`)
    const after = free()
    return after > 0 && after < before
  } catch {
    // Locked or full: nobody waits for this, and the next sweep tries again.
    return false
  }
}
