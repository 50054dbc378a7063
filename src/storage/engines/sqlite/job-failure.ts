import { Refusal, type RefusalCode, type RefusalValues, refuse } from '../../../domain/refusals.ts'
import { storageFailure } from '../../failures.ts'

/** A failure in words that cross a thread. */
export type JobFailure =
  | { kind: 'refusal'; code: RefusalCode; values: RefusalValues; cause: string | undefined }
  | { kind: 'fault'; message: string; stack: string | undefined }

export function describeFailure(error: unknown): JobFailure {
  if (error instanceof Refusal) {
    const cause = error.cause instanceof Error ? error.cause.message : undefined
    return { kind: 'refusal', code: error.code, values: error.values, cause }
  }
  const fault = error instanceof Error ? error : new Error(String(error))
  return { kind: 'fault', message: fault.message, stack: fault.stack }
}

export function failureError(failure: JobFailure): Error {
  if (failure.kind === 'refusal') {
    return failure.cause === undefined
      ? refuse(failure.code, failure.values)
      : storageFailure(failure.code, new Error(failure.cause))
  }
  const fault = new Error(failure.message)
  if (failure.stack !== undefined) fault.stack = failure.stack
  return fault
}
