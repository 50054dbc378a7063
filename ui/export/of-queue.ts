import type { LightCall } from '../../src/operations/views/contract.ts'
import { readItemsWithPreviews } from '../screens/queue/item-previews.ts'
import { countOfState, type ItemsView, readQueue, readRules, readStats } from '../server/queues.ts'
import type { Exported } from './make.ts'
import { captureList, mostListed } from './whole-calls.ts'

/** A queue with its calls and their feedback. */
export function exportOfQueue(view: ItemsView, pageSize: number): Exported {
  const { project, queue, state } = view
  return {
    title: 'Queue',
    project,
    path: location.pathname + location.search,
    name: `queue-${queue}`,
    async collect(kept, signal) {
      await readQueue(project, queue, signal)
      await readRules(project, queue, signal)
      const stats = (await readStats(project, [queue], signal)).get(queue)
      const all = stats === undefined ? 0 : countOfState(stats, state)
      const calls: LightCall[] = []
      let rows = 0
      while (rows < Math.min(all, mostListed)) {
        const page = await readItemsWithPreviews(view, { offset: rows, limit: pageSize }, signal)
        if (page.length === 0) break
        rows += page.length
        calls.push(...page.flatMap(({ call }) => call ?? []))
      }
      const { holds } = await captureList({ project, calls, all, what: 'items' }, kept, signal)
      return { holds, rows }
    },
  }
}
