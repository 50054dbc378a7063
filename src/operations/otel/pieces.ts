import { refuse } from '../../domain/refusals.ts'
import type { Resource, Scope, Span } from './span.ts'

/** The spans or log records of one program. They are decoded one by one. */
export interface ResourcePiece<Item = Span> {
  resource(): Resource
  items: ItemPiece<Item>[]
}

export interface ItemPiece<Item = Span> {
  scope: () => Scope
  item: () => Item
}

/** Bounds the number of tiny parts in one request; the size of the body bounds the rest. */
export const maxPieces = 50_000

export function countPieces(field: string): () => void {
  let pieces = 0
  return () => {
    if (++pieces > maxPieces) {
      throw refuse('too_many_ids', {
        field,
        received: `more than ${maxPieces}`,
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
