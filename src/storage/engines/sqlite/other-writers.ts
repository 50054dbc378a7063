/** How often to check for writes by other processes; a check takes 10 µs. */
const checkIntervalMs = 250

/**
 * Detects that another process has written to the same file. `version` is read on the connection that writes here, so
 * that our own writes do not change it.
 */
export function detectOtherWriters(version: () => Promise<number>, found: () => void) {
  let timer: NodeJS.Timeout | undefined
  return {
    look(isWatched: boolean): void {
      clearTimeout(timer)
      timer = undefined
      if (!isWatched) return
      let before: number | undefined
      const next = () => {
        const own = setTimeout(
          async () => {
            // While the record is closing or cannot be read, there is nothing to detect.
            const now = await version().catch(() => undefined)
            if (timer !== own) return
            if (before !== undefined && now !== undefined && now !== before) found()
            before = now ?? before
            next()
          },
          before === undefined ? 0 : checkIntervalMs,
        )
        timer = own.unref()
      }
      next()
    },
  }
}
