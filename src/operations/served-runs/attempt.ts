import { Refusal } from '../../domain/refusals.ts'
import type { ServedRun } from '../../storage/evaluations/served-runs.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'

/** A step of a run that may have been tried before, by this process or another. */
export interface Attempt {
  services: OperationParts
  scope: Scope
  run: ServedRun
  signal: AbortSignal
  /** Whether something that failed is tried again later; throws if so. */
  retry(error: Refusal): void
}

/** What fails may do so for a while only; `retry` then throws. Otherwise the reason is the result. */
export async function refusable<Result>(
  { signal, retry }: Attempt,
  work: () => Promise<Result>,
): Promise<Result | { exception: string }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal) || signal.aborted) throw error
    retry(error)
    return { exception: error.message }
  }
}
