import { type PlainRefusalCode, type Refusal, refuse } from '../domain/refusals.ts'

/** Why a store cannot be opened or used, in one line that an operator can act on. */
export class StorageRefusal extends Error {
  override readonly name = 'StorageRefusal'
  readonly kind: 'missing' | 'newer' | 'foreign' | 'corrupt' | 'locked' | 'read-only' | 'full' | 'unreachable'

  constructor(kind: StorageRefusal['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/**
 * Turns a failure of the storage engine during a request into the refusal for the caller. The cause is kept for the
 * log.
 */
export function storageFailure(code: PlainRefusalCode, cause: unknown): Refusal {
  const refusal = refuse(code)
  refusal.cause = cause
  return refusal
}
