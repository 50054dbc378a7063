import { paths } from '../routes.ts'
import { readHits } from '../screens/search/hits.ts'
import type { Exported } from './make.ts'
import { captureList } from './whole-calls.ts'

/** The calls found, as many as are on the screen. */
export function exportOfSearch(project: string, text: string, isAll: boolean, shown: number): Exported {
  return {
    title: `Calls with ${text}`,
    project,
    path: paths.search(project, { q: text, ...(isAll && { judged: '1' }) }),
    name: 'search',
    async collect(kept, signal) {
      const { hits, next } = await readHits({ project, text, isAll, after: undefined, wanted: shown }, signal)
      const calls = hits.map(({ call }) => call)
      const all = next === null ? calls.length : undefined
      return captureList({ project, calls, all, what: 'matching calls' }, kept, signal)
    },
  }
}
