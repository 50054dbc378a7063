import type { LightCall } from '../../../src/operations/views/contract.ts'
import { contents } from '../../export/contents.ts'
import { readCalls } from '../../server/calls.ts'
import { type ItemsView, type QueueItem, readItems } from '../../server/queues.ts'
import { may } from '../../server/rights.ts'

export interface PreviewedItem extends QueueItem {
  /** Undefined where the call is gone, or the user may not read lists of calls, as annotators. */
  call: LightCall | undefined
}

/** The items, with a preview of the inputs of their calls. */
export async function readItemsWithPreviews(
  view: ItemsView,
  page: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<PreviewedItem[]> {
  const items = await readItems(view, page, signal)
  const ids = items.map(({ call_id }) => call_id)
  const mayList = contents !== undefined || may('read', view.project)
  const calls = mayList ? await readCalls({ project: view.project }, ids, signal) : []
  const found = new Map(calls.map((call) => [call.id, call]))
  return items.map((item) => ({ ...item, call: found.get(item.call_id) }))
}
