import { Fragment } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ExportButton } from '../../export/button.tsx'
import { contents } from '../../export/contents.ts'
import { Icon } from '../../parts/icon.tsx'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { OriginSwitch } from '../../parts/origin-switch.tsx'
import { type Shortcut, useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { nameOf } from '../../server/calls.ts'
import { isForbidden } from '../../server/request.ts'
import { previewText } from '../../value/preview-text.ts'
import { countText, durationText } from '../../value/units.ts'
import { FilterText } from '../calls/filter-bar.tsx'
import { pathOfCall } from '../calls/line.tsx'
import { type Hit, type Hits, readHits } from './hits.ts'

/** Pause in typing after which the search runs. */
const pauseMs = 250

interface State extends Hits {
  of: string
}

/** Finds calls by words in them, and shows where the words occur. */
export function SearchScreen({ project }: { project: string }) {
  const text = search.value.get('q') ?? ''
  const isAll = search.value.get('judged') === '1'
  const field = useRef<HTMLInputElement>(null)
  const [body, list] = [useRef<HTMLDivElement>(null), useRef<HTMLOListElement>(null)]
  const kept = useListPosition(`${project} ${text}`)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [draft, setDraft] = useState(text)
  const [state, setState] = useState<State>()
  const [error, setError] = useState<Error>()
  const [turn, setTurn] = useState(0)
  const [active, setActive] = useState(-1)
  const written = useRef(text)
  useLayoutEffect(() => {
    if (text !== written.current) setDraft(text)
    written.current = text
  }, [text])
  // A layout effect, because the user may type before the next paint. On a return the focus stays with the results.
  useLayoutEffect(() => {
    if (kept.left === undefined) field.current?.focus()
    return () => clearTimeout(timer.current)
  }, [])
  const reading = useRef<AbortController>(undefined)
  const read = (after?: string, wanted = 0) => {
    reading.current?.abort()
    const controller = new AbortController()
    reading.current = controller
    readHits({ project, text, isAll, after, wanted }, controller.signal).then(
      ({ hits, next, searchable }) => {
        if (controller.signal.aborted) return
        setError(undefined)
        const before = after !== undefined && state?.of === text ? state.hits : []
        setState({ of: text, hits: [...before, ...hits], next, searchable })
      },
      (given: Error) => {
        if (!controller.signal.aborted) setError(given)
      },
    )
  }
  useLayoutEffect(() => setActive(kept.left?.active ?? -1), [project, text, turn])
  useEffect(() => {
    if (/[\p{L}\p{N}]/u.test(text)) read(undefined, contents?.rows ?? kept.left?.rows)
    else {
      setState(undefined)
      setError(undefined)
    }
    return () => reading.current?.abort()
  }, [project, text, isAll, turn])
  const apply = (next: string) => {
    clearTimeout(timer.current)
    written.current = next
    setSearch({ q: next })
  }
  const hits = state?.hits ?? []
  const isLoaded = state?.of === text
  const keepPlace = useScrollRestoration(kept, { ...{ scroller: body, isLoaded, active }, rows: hits.length })
  const move = (by: number) => {
    const next = Math.min(hits.length - 1, Math.max(0, active + by))
    setActive(next)
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' })
  }
  const current = hits[active]?.call
  const moving: Shortcut[] = [
    { keys: ['j', 'ArrowDown'], does: 'Next call', run: () => move(1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous call', run: () => move(-1) },
    {
      keys: ['Enter', 'o'],
      does: 'Open call',
      run: () => current && navigate(pathOfCall(project, current)),
    },
  ]
  useShortcuts('Search', moving, [
    { keys: ['/', 'f'], does: 'New search', run: () => field.current?.focus() },
    { keys: ['m'], does: 'Show more', run: () => state?.next && read(state.next) },
  ])
  if (isForbidden(error)) return <FailedScreen name={`Search in ${project}`} error={error} />
  return (
    <main class="screen search-screen">
      <h1 class="hidden-text">Search in {project}</h1>
      <div class="filter-bar">
        <div class="search-field" role="search" data-file={() => <FilterText text={text} />}>
          <Icon name="search" />
          <input
            ref={field}
            aria-label="Search"
            placeholder="refund &quot;my order&quot; -test"
            autocomplete="off"
            spellcheck={false}
            maxLength={1_000}
            value={draft}
            onInput={({ currentTarget }) => {
              const next = currentTarget.value
              setDraft(next)
              clearTimeout(timer.current)
              timer.current = setTimeout(() => apply(next), pauseMs)
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter') apply(draft)
              else if (event.key === 'ArrowDown' && hits.length > 0) {
                event.currentTarget.blur()
                move(1)
              } else if (event.key === 'Escape') event.currentTarget.blur()
              else return
              event.preventDefault()
              event.stopPropagation()
            }}
          />
        </div>
        <Fragment data-file={null}>
          <OriginSwitch isOn={isAll} />
        </Fragment>
        <output class="muted count" aria-live="polite">
          {state && `${countText(hits.length)} found${state.next ? ' so far' : ''}`}
        </output>
        {hits.length > 0 && (
          <ExportButton
            what="search"
            load={async () =>
              (await import('../../export/all.ts')).exportOfSearch(project, text, isAll, hits.length)
            }
            hasKey
          />
        )}
      </div>
      {state?.searchable && (
        <p class="muted note" role="status" data-file={null}>
          {countText(state.searchable.value)} of {countText(state.searchable.of)} calls are searchable so far.{' '}
          <button type="button" class="quiet" onClick={() => setTurn(turn + 1)}>
            Search again
          </button>
        </p>
      )}
      <div class="search-body" ref={body} onScroll={() => keepPlace()}>
        {error ? (
          <Failed error={error} retry={() => setTurn(turn + 1)} />
        ) : state === undefined ? (
          text === '' ? (
            <Empty title="Find calls by the words in them">
              <p>
                In inputs, outputs, exceptions, notes and names. All words must match, whole or as the
                beginning of a word. Use “quotation marks” for an exact phrase and -word to exclude a word.
              </p>
            </Empty>
          ) : (
            <Skeleton rows={6} />
          )
        ) : hits.length === 0 ? (
          <Empty title={`No ${state.searchable ? 'searchable call contains' : 'calls contain'} these words`}>
            <a class="button" href={paths.calls(project, { q: JSON.stringify(text), all: '1' })}>
              Search for this text inside words
            </a>
          </Empty>
        ) : (
          <>
            <ol class="hits" ref={list}>
              {hits.map((hit, index) => (
                <HitLine
                  key={hit.call.id}
                  {...{ project, hit }}
                  isActive={index === active}
                  onLeave={() => keepPlace(index)}
                />
              ))}
            </ol>
            {state.next !== null && (
              <button
                type="button"
                class="more-hits"
                data-file={null}
                onClick={() => read(state.next ?? undefined)}
              >
                Show more
              </button>
            )}
          </>
        )}
      </div>
    </main>
  )
}

const places = { inputs: 'asked', output: 'said', exception: 'failed', note: 'note', name: 'name' } as const

interface LineProps {
  project: string
  hit: Hit
  isActive: boolean
  /** Called before its link is followed. */
  onLeave(): void
}

function HitLine({ project, hit, isActive, onLeave }: LineProps) {
  const { call, snippets } = hit
  return (
    <li class={isActive ? 'hit is-active' : 'hit'} aria-current={isActive ? 'true' : undefined}>
      <div class="hit-head">
        <Status status={call.status} isShort />
        <a class="call-name" dir="auto" href={pathOfCall(project, call)} onClick={onLeave}>
          {nameOf(call)}
        </a>
        <span class="muted">{call.model}</span>
        <span class="muted">{call.latency_ms !== null && durationText(call.latency_ms)}</span>
        <span class="muted hit-time">
          <Time at={call.started_at} />
        </span>
      </div>
      {snippets.map(({ field, text, marks }, index) => (
        <p key={`${field} ${index}`} class="snippet">
          <span class="muted snippet-field">{places[field]}</span>
          <span>{marked(text, marks)}</span>
        </p>
      ))}
      {snippets.length === 0 && <p class="snippet muted">{previewText(call.input_preview ?? '')}</p>}
    </li>
  )
}

function marked(text: string, marks: readonly (readonly [number, number])[]) {
  const parts = []
  let at = 0
  for (const [from, to] of marks) {
    parts.push(text.slice(at, from), <mark key={from}>{text.slice(from, to)}</mark>)
    at = to
  }
  parts.push(text.slice(at))
  return parts
}
