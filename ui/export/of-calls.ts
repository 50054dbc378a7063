import type { LightCall } from '../../src/operations/views/contract.ts'
import { type CallsView, countCalls, newestOf, readPage } from '../server/calls.ts'
import type { Exported } from './make.ts'
import { captureList, mostListed } from './whole-calls.ts'

/** The list with its filter, order and columns, from the first row. */
export function exportOfCalls(view: CallsView, pageSize: number): Exported {
  const { project } = view
  return {
    title: `Calls of ${project}`,
    project,
    path: location.pathname + location.search,
    name: 'calls',
    async collect(kept, signal) {
      const page = (offset: number) => ({ offset, limit: pageSize })
      const calls: LightCall[] = await readPage(view, {}, page(0), signal)
      const all = Math.max(calls.length, await countCalls(view, {}, signal))
      const until = newestOf(view, calls)
      while (calls.length < Math.min(all, mostListed)) {
        const more = await readPage(view, { until }, page(calls.length), signal)
        if (more.length === 0) break
        calls.push(...more)
      }
      return captureList({ project, calls, all, what: 'calls' }, kept, signal)
    },
  }
}
