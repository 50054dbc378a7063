import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { setSearch } from '../../router.ts'
import { scoreName } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'
import { type CompareView, type SortOrder, setSort } from './view.ts'

interface Props {
  view: CompareView
  sortOrder: SortOrder
  field: string | undefined
  fields: readonly string[]
  count: number | undefined
}

const orderNames: Record<SortOrder, string> = {
  diff: 'Largest difference',
  high: 'Highest first',
  low: 'Lowest first',
  none: 'Stored order',
}

/** Which rows are shown, and in which order. */
export function FilterLine({ view, sortOrder, field, fields, count }: Props) {
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(view.filter)
  // A layout effect, because the user may have begun to type before the next paint.
  useLayoutEffect(() => setText(view.filter), [view.filter])
  useShortcuts('Filter', [], [{ keys: ['/', 'f'], does: 'Filter rows', run: () => input.current?.focus() }])
  const filter = (q: string) => setSearch({ q, row: undefined, trial: undefined }, { replaces: false })
  const counted = <output class="muted count">{count === undefined ? '' : `${countText(count)} rows`}</output>
  const asText = () => (
    <div class="filter-bar">
      <span>
        {orderNames[sortOrder]}
        {field !== undefined && `, by ${scoreName(field)}`}
        {view.filter !== '' && ', matching '}
        {view.filter !== '' && <code>{view.filter}</code>}
      </span>
      {counted}
    </div>
  )
  return (
    <div class="filter-bar" role="search" data-file={asText}>
      <div class="search-field">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          aria-label="Filter rows"
          aria-invalid={view.wrong !== undefined}
          aria-describedby="filter-wrong"
          placeholder="scores.judge&gt;=0.5"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onChange={() => filter(text.trim())}
          onKeyDown={(event) => {
            if (event.key === 'Enter') filter(text.trim())
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
      </div>
      <select
        aria-label="Order"
        value={sortOrder}
        disabled={field === undefined}
        onChange={({ currentTarget }) => field && setSort(currentTarget.value as SortOrder, field)}
      >
        {Object.entries(orderNames).map(([name, label]) => (
          <option key={name} value={name} disabled={name === 'diff' && view.ids.length < 2}>
            {label}
          </option>
        ))}
      </select>
      {fields.length > 0 && (
        <select
          aria-label="Score"
          value={field}
          onChange={({ currentTarget }) => setSort(sortOrder, currentTarget.value)}
        >
          {fields.map((one) => (
            <option key={one} value={one}>
              {scoreName(one)}
            </option>
          ))}
        </select>
      )}
      {view.ids.length > 1 && (
        <label class="check">
          <input
            type="checkbox"
            checked={view.common}
            onChange={({ currentTarget }) => setSearch({ common: currentTarget.checked ? '1' : undefined })}
          />
          Only rows in all runs
        </label>
      )}
      {view.filter !== '' && (
        <button type="button" class="quiet" onClick={() => filter('')}>
          Clear filter
        </button>
      )}
      {counted}
      <p id="filter-wrong" class="problem filter-wrong" role="status">
        {view.wrong !== undefined &&
          `Cannot parse: ${view.wrong.slice(0, 80)}. A condition is a field, an operator (= != < <= > >= ~) and a value; put texts with spaces in quotes.`}
      </p>
    </div>
  )
}
