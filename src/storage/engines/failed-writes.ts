import { Refusal, type RefusalCode } from '../../domain/refusals.ts'

/** For so long a write that failed speaks against the store, unless one has succeeded since. */
const countsMs = 30_000

/** A probe is small: it may fit where no call does any more, so what became of the last writes counts too. */
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
    /** Throws what the last write was refused with. */
    check(): void {
      if (last !== undefined && performance.now() - last.at < countsMs) throw last.refusal
    },
  }
}
