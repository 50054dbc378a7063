import { useRef, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { search, setSearch } from '../../routes.ts'
import { countText } from '../../value/units.ts'

/** How long somebody has not typed before the record is searched. */
const pauseMs = 250

/** What is shown of the calls. It all stands in the address. */
export function FilterBar({ count, roots }: { count: number | undefined; roots: boolean }) {
  const asked = search.value
  const field = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [text, setText] = useState(asked.get('text') ?? '')
  useKeys('Filter', [
    { keys: ['/', 'f'], does: 'Search in what was asked and said', run: () => field.current?.focus() },
  ])
  const type = (next: string) => {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setSearch({ text: next }), pauseMs)
  }
  return (
    <div class="filter-bar" role="search">
      <div class="search-field">
        <Icon name="search" />
        <input
          ref={field}
          type="search"
          aria-label="Search in what was asked and said"
          placeholder="Search in what was asked and said"
          value={text}
          onInput={({ currentTarget }) => type(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
      </div>
      <input
        class="op-field"
        aria-label="Part of the name of an op"
        placeholder="Op"
        defaultValue={asked.get('op') ?? ''}
        onChange={({ currentTarget }) => setSearch({ op: currentTarget.value })}
      />
      <select
        aria-label="Status"
        value={asked.get('status') ?? ''}
        onChange={({ currentTarget }) => setSearch({ status: currentTarget.value })}
      >
        <option value="">Any status</option>
        <option value="success">Done</option>
        <option value="error">Failed</option>
        <option value="descendant_error">Failed within</option>
        <option value="running">Running</option>
      </select>
      <label class="check">
        <input
          type="checkbox"
          checked={roots}
          onChange={({ currentTarget }) => setSearch({ all: currentTarget.checked ? undefined : '1' })}
        />
        Roots only
      </label>
      <output class="muted count">{count === undefined ? '' : `${countText(count)} calls`}</output>
    </div>
  )
}
