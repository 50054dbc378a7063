import { Refusal, type RefusalCode } from '../../domain/refusals.ts'

/** How long a failed write counts against the store, unless a later one succeeds. */
const countsMs = 30_000

/** A probe is small and may still fit where no call does, so the outcome of recent writes counts too. */
export function createFailedWrites(codes: readonly RefusalCode[]) {
  let last: { refusal: Refusal; at: number } | undefined
  return {
    async noted<T>(write: Promise<T>): Promise<T> {
      try {
        const written = await write
        last = undefined
        return written
      } catch (error) {
        if (error instanceof Refusal && codes.includes(error.code)) {
          last = { refusal: error, at: performance.now() }
        }
        throw error
      }
    },
    /** Throws the refusal of the last failed write, if it still counts. */
    check(): void {
      if (last !== undefined && performance.now() - last.at < countsMs) throw last.refusal
    },
  }
}
