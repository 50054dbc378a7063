/** How often it is looked for what other processes have written: to look takes 10 µs. */
const lookMs = 250

/**
 * Finds that another process has written to the same file. `version` is asked on the connection that writes here, so that it
 * does not change by what is written here.
 */
export function lookForOthers(version: () => Promise<number>, found: () => void) {
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
            // While the record closes, or cannot be read, there is nothing to find.
            const now = await version().catch(() => undefined)
            if (timer !== own) return
            if (before !== undefined && now !== undefined && now !== before) found()
            before = now ?? before
            next()
          },
          before === undefined ? 0 : lookMs,
        )
        timer = own.unref()
      }
      next()
    },
  }
}
