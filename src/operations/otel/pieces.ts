import { refuse } from '../../domain/refusals.ts'
import type { Resource, Scope, Span } from './span.ts'

/** The spans of one program. They are decoded one by one, with a yield to the event loop between them. */
export interface ResourcePiece {
  resource(): Resource
  spans: SpanPiece[]
}

export interface SpanPiece {
  scope: () => Scope
  span: () => Span
}

/** Bounds the number of tiny parts in one request; the size of the body bounds the rest. */
export const maxPieces = 50_000

export function countPieces(): () => void {
  let pieces = 0
  return () => {
    if (++pieces > maxPieces) {
      throw refuse('too_many_ids', {
        field: 'resourceSpans',
        given: `more than ${maxPieces}`,
        limit: maxPieces,
      })
    }
  }
}

/** Decodes something shared when it is first needed, and only once. */
export function once<T>(open: () => T): () => T {
  let result: { value: T } | { error: unknown } | undefined
  return () => {
    if (result === undefined) {
      try {
        result = { value: open() }
      } catch (error) {
        result = { error }
      }
    }
    if ('error' in result) throw result.error
    return result.value
  }
}
