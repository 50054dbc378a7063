import type { z } from 'zod'
import { wrong } from '../generation/checks.ts'
import type { InputItemsQuery } from './answer-contract.ts'
import type { Item } from './items.ts'

/** A page of the items of an input. */
export function pageOf(input: readonly Item[], { limit, order, after }: z.output<typeof InputItemsQuery>) {
  const items = order === 'asc' ? input : input.toReversed()
  const before = after === undefined ? -1 : items.findIndex(({ id }) => id === after)
  if (after !== undefined && before === -1)
    throw wrong('after', JSON.stringify(after), 'the id of an item of this input')
  const data = items.slice(before + 1, before + 1 + limit)
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: before + 1 + limit < items.length,
  }
}
