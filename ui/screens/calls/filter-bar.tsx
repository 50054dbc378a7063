import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Known, suggestionsFor, wantedAt } from '../../filter/suggest.ts'
import { Icon } from '../../parts/icon.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { setSearch } from '../../router.ts'
import { type CallsScope, readColumns, readFacets } from '../../server/views.ts'

/** Pause in typing after which the filter applies. */
const pauseMs = 350

interface Props {
  /** As the address has it. */
  text: string
  /** What is wrong with it. */
  problem: string | undefined
  /** The calls whose values are suggested. */
  meant?: CallsScope
}

/** The filter as text, in an exported file. */
export function FilterText({ text, roots }: { text: string; roots?: boolean }) {
  return (
    <span class="filter-text">
      {text === '' ? 'Not filtered' : <code>{text}</code>}
      {roots && <span class="muted">roots only</span>}
    </span>
  )
}

/** The filter as an editable text. */
export function FilterBar({ text, problem, meant }: Props) {
  const field = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [draft, setDraft] = useState(text)
  const [caret, setCaret] = useState<number>()
  const [at, setAt] = useState(-1)
  const written = useRef(text)
  // The user went back, or a click changed the filter.
  useLayoutEffect(() => {
    if (text !== written.current) setDraft(text)
    written.current = text
  }, [text])
  useEffect(() => () => clearTimeout(timer.current), [])
  useShortcuts('Filter', [
    {
      keys: ['/', 'f'],
      does: 'Filter, or search inputs and outputs',
      run: () => field.current?.focus(),
    },
  ])
  const apply = (next: string) => {
    clearTimeout(timer.current)
    written.current = next
    setSearch({ q: next })
  }
  const type = (next: string, to: number | null) => {
    setDraft(next)
    setCaret(to ?? next.length)
    setAt(-1)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => apply(next), pauseMs)
  }
  const known = useKnown(meant, caret === undefined ? undefined : wantedAt(draft, caret))
  const suggestions = caret === undefined ? [] : suggestionsFor(draft, caret, known)
  const take = (index: number) => {
    const taken = suggestions[index]
    if (taken === undefined) return
    type(taken.whole, taken.whole.length)
    field.current?.focus()
  }
  return (
    <div class="filter-field" role="search">
      <div class="search-field">
        <Icon name="search" />
        <input
          ref={field}
          role="combobox"
          aria-label="Filter"
          aria-expanded={suggestions.length > 0}
          aria-controls="filter-suggestions"
          aria-activedescendant={at === -1 ? undefined : `suggestion-${at}`}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : 'filter-problem'}
          autocomplete="off"
          spellcheck={false}
          placeholder="status:error latency:>2s &quot;refund&quot;"
          value={draft}
          onInput={({ currentTarget }) => type(currentTarget.value, currentTarget.selectionStart)}
          onBlur={() => {
            setCaret(undefined)
            // The button that is pressed next means these calls.
            if (field.current !== null && draft !== written.current) apply(draft)
          }}
          onKeyDown={(event) => {
            const last = suggestions.length - 1
            if (event.key === 'ArrowDown' && last >= 0) setAt(Math.min(last, at + 1))
            else if (event.key === 'ArrowUp' && last >= 0) setAt(Math.max(-1, at - 1))
            else if (event.key === 'Tab' && !event.shiftKey && last >= 0) take(Math.max(0, at))
            else if (event.key === 'Enter') at === -1 ? apply(draft) : take(at)
            else if (event.key === 'Escape' && last >= 0) setCaret(undefined)
            else if (event.key === 'Escape') event.currentTarget.blur()
            else return
            event.preventDefault()
            event.stopPropagation()
          }}
        />
        {draft !== '' && (
          <button
            type="button"
            class="icon-button clear-filter"
            aria-label="Clear filter"
            onClick={() => {
              setDraft('')
              apply('')
            }}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
      <div role="listbox" id="filter-suggestions" aria-label="Suggestions" hidden={suggestions.length === 0}>
        {suggestions.map((one, index) => (
          <div
            key={one.text}
            id={`suggestion-${index}`}
            role="option"
            aria-selected={index === at}
            // Keeps the focus in the field.
            onMouseDown={(event) => {
              event.preventDefault()
              take(index)
            }}
          >
            <code>{one.text}</code>
            <span class="muted">{one.means}</span>
          </div>
        ))}
      </div>
      {problem !== undefined && suggestions.length === 0 && (
        <p id="filter-problem" class="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

/** What the record contains for it, once loaded. All calls count, because the filter is being changed. */
function useKnown(meant: CallsScope | undefined, wanted: ReturnType<typeof wantedAt>): Known {
  const [known, setKnown] = useState<Known>({ paths: [], values: undefined })
  const field = wanted !== undefined && 'values' in wanted ? wanted.values : undefined
  const wantsPaths = wanted !== undefined && 'paths' in wanted
  const { project, roots } = meant ?? {}
  useEffect(() => {
    if (project === undefined || roots === undefined || (field === undefined && !wantsPaths)) return
    const controller = new AbortController()
    const all = { project, roots, query: undefined }
    const read = async () => {
      if (field === undefined) {
        const { columns } = await readColumns(all, controller.signal)
        return { paths: columns, values: undefined }
      }
      const [facet] = await readFacets(all, [field], controller.signal)
      return { paths: [], values: { field, of: facet?.values ?? [] } }
    }
    // Suggestions are optional: the bar works without them.
    read().then(setKnown, () => undefined)
    return () => controller.abort()
  }, [project, roots, field, wantsPaths])
  return known
}
