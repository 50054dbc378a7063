import { useMemo } from 'preact/hooks'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { search, setSearch } from '../../router.ts'
import { spans } from '../charts/range.ts'

const everything = 'all'
const usual = '30d'
const ranges = [...spans, { name: everything, label: 'All', seconds: Infinity }]

/** The range of time in the address, and when it begins; undefined for all calls. */
export function useRange(): { range: string; since: Date | undefined } {
  const named = search.value.get('range')
  const { name: range, seconds } = ranges.find(({ name }) => name === (named ?? usual)) ?? spans[3]
  const since = useMemo(
    () => (range === everything ? undefined : new Date(Date.now() - seconds * 1_000)),
    [range],
  )
  return { range, since }
}

const choose = (range: string) => setSearch({ range })
export const showAllTimes = () => choose(everything)

export function RangeChoice({ range }: { range: string }) {
  useShortcuts(
    'Time range',
    ranges.map(({ name, label }, index) => ({
      keys: [String(index + 1)],
      does: name === everything ? 'Show all calls' : `Show the last ${label.toLowerCase()}`,
      run: () => choose(name),
    })),
  )
  return (
    <div class="segments" role="group" aria-label="Time range">
      {ranges.map(({ name, label }) => (
        <button key={name} type="button" aria-pressed={name === range} onClick={() => choose(name)}>
          {label}
        </button>
      ))}
    </div>
  )
}
