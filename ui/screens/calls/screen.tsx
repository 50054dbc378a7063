import { Fragment } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Expression } from '../../../packages/filter/index.ts'
import type { LightCall } from '../../../src/operations/views/contract.ts'
import { ExportButton } from '../../export/button.tsx'
import { ofApplication, showsAllOrigins } from '../../filter/origin.ts'
import { FirstCall } from '../../parts/first-call.tsx'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { MoreActs } from '../../parts/more-acts.tsx'
import { OriginSwitch } from '../../parts/origin-switch.tsx'
import { rem } from '../../parts/rem.ts'
import { RootsSwitch } from '../../parts/roots-switch.tsx'
import { SavedViews } from '../../parts/saved-views.tsx'
import { listKeys, type Shortcut, useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen } from '../../parts/states.tsx'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { type CallsView, maxSelected } from '../../server/calls.ts'
import { useHearing } from '../../server/events.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { countText } from '../../value/units.ts'
import { chosenColumns } from './columns.ts'
import { Facets, pinnedIn } from './facets.tsx'
import { FilterBar, FilterText } from './filter-bar.tsx'
import { ColumnChooser, GridHead, sortIn } from './head.tsx'
import { CallLine, pathOfCall, rowHeight } from './line.tsx'
import { DisconnectedNote, LiveSwitch } from './live.tsx'
import { parseQuery } from './parse-query.ts'
import { createRows, pageSize } from './rows.ts'
import { AlertLink, AskAgain, Export, Selection, type SelectionFront } from './selection.tsx'

/** The view of a call is half of the code of this screen, so it is loaded when the first call is opened. */
const CallDetail = lazy(async () => (await import('../../call/detail.tsx')).CallDetail, { isPart: true })

/** From this width on the facets are shown next to the list, unless the user has closed them. */
const roomy = matchMedia('(min-width: 90rem)')
/** Of the newest calls, what facets look at, too. */
const minExamined = 10_000
/** Below this width they lie over the list, as in style/calls.css. */
const tight = matchMedia('(width < 60rem)')

/** All calls of a project, newest first, and next to them the call that is previewed. */
export function CallsScreen({ project }: { project: string }) {
  const asked = search.value
  const roots = asked.get('all') !== '1'
  const text = asked.get('q') ?? ''
  const [sortText, colsText] = [asked.get('sort'), asked.get('cols')]
  const peek = asked.get('peek') ?? undefined
  const read = useMemo(() => parseQuery(text), [text])
  // While the filter cannot be parsed, the list keeps the last filter that could.
  const query = useRef<Expression>(undefined)
  if (!('problem' in read && read.problem)) query.current = (read as { query: Expression | undefined }).query
  const shown = useMemo(() => chosenColumns(colsText), [colsText])
  const values = shown.flatMap(({ path }) => path ?? [])
  const whole = useMemo(() => ({ project, roots, query: query.current }), [project, roots, query.current])
  const judged = asked.get('judged')
  const isAll = showsAllOrigins(judged, text)
  const meant = useMemo(
    () => (isAll ? whole : { ...whole, query: ofApplication(whole.query) }),
    [whole, isAll],
  )
  const [examine, setExamine] = useState(minExamined)
  useEffect(() => setExamine(minExamined), [meant])
  const view = useMemo<CallsView>(
    () => ({ ...meant, sort: sortIn(sortText), columns: values, examine }),
    [meant, sortText, values.join(','), examine],
  )
  const [facetsText, facetText] = [asked.get('facets'), asked.get('facet')]
  const [isRoomy, setRoomy] = useState(roomy.matches)
  const hasFacets = facetsText === null ? isRoomy : facetsText === '1'
  const pinned = useMemo(() => pinnedIn(facetText), [facetText])
  useEffect(() => {
    const look = () => {
      setRoomy(roomy.matches)
      // Over the list they are only where they were opened there.
      if (tight.matches) setSearch({ facets: undefined })
    }
    for (const room of [roomy, tight]) room.addEventListener('change', look)
    return () => {
      for (const room of [roomy, tight]) room.removeEventListener('change', look)
    }
  }, [])
  const turnFacets = () => setSearch({ facets: hasFacets ? '0' : '1' })

  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(-1)
  const [scrollRequest, setScrollRequest] = useState(0)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  /** What is done with the selected calls. */
  const [front, setFront] = useState<SelectionFront>()
  const isBusy = useRef(false)
  isBusy.current = active >= 0 || chosen.size > 0 || peek !== undefined
  const isAtTop = () => (scroller.current?.scrollTop ?? 0) < rowHeight * rem.value
  const list = useMemo(() => createRows(view, () => isAtTop() && !isBusy.current), [view])
  useHearing(list)
  const kept = useListPosition(JSON.stringify([project, roots, text, sortText, judged]))
  useLayoutEffect(() => {
    setActive(kept.left?.active ?? -1)
    setChosen(new Set())
    scroller.current?.scrollTo({ top: 0 })
  }, [list])

  const count = list.count.value
  const isCounted = count !== undefined
  const examined = list.examined.value
  const ofWhat = examined ? `of the newest ${countText(examined.calls)}` : count === 1 ? 'call' : 'calls'
  const keepPlace = useScrollRestoration(kept, { scroller, isLoaded: isCounted && list, active })
  const rowAt = (index: number) => list.rows.value.get(index)
  const move = (by: number): number => {
    if (!count) return -1
    const next = Math.min(count - 1, Math.max(0, active + by))
    setActive(next)
    setScrollRequest(scrollRequest + 1)
    const row = rowAt(next)
    if (peek !== undefined && row) setSearch({ peek: row.id })
    return next
  }
  const choose = (indexes: readonly number[], isAdding: boolean) => {
    const next = new Set(chosen)
    for (const row of indexes.map(rowAt)) {
      if (row === undefined) continue
      if (!isAdding && next.has(row.id)) next.delete(row.id)
      else next.add(row.id)
    }
    setChosen(next)
  }
  const chooseAll = async () => {
    const all = await list.readAll(maxSelected)
    if (all) setChosen(new Set(all))
  }
  const allToDataset = async () => {
    const all = await list.readAll(maxSelected)
    if (all === undefined || all.length === 0) return
    setChosen(new Set(all))
    setFront('dataset')
  }
  const between = (one: number, other: number) =>
    Array.from({ length: Math.abs(one - other) + 1 }, (_, offset) => Math.min(one, other) + offset)
  const current = rowAt(active)
  const showFresh = () => {
    setActive(-1)
    scroller.current?.scrollTo({ top: 0 })
    void list.reload()
  }
  /** The first preview is an entry of the history, so that going back closes it. */
  const preview = (id: string | undefined) => setSearch({ peek: id }, { replaces: peek !== undefined })
  const open = (row: LightCall | undefined) => row && navigate(pathOfCall(project, row))
  const reading: Shortcut[] = [
    ...listKeys('call', move),
    { keys: ['p', ' '], does: 'Preview', run: () => preview(current?.id) },
    { keys: ['Enter', 'o'], does: 'Open call', run: () => open(current) },
    {
      keys: ['Escape'],
      does: 'Close the preview, then clear the focus',
      run: () => (peek === undefined ? setActive(-1) : setSearch({ peek: undefined })),
    },
  ]
  const mayWrite = may('write', project)
  const changing: Shortcut[] = [
    { keys: ['x'], does: 'Select or deselect', run: () => choose([active], false) },
    { keys: ['A'], does: 'Select all calls of this filter', run: () => void chooseAll() },
    { keys: ['J'], does: 'Extend selection down', run: () => choose([active, move(1)], true) },
    { keys: ['K'], does: 'Extend selection up', run: () => choose([active, move(-1)], true) },
    ...(mayWrite ? [{ keys: ['d'], does: 'All calls of this filter to a dataset', run: allToDataset }] : []),
    { keys: ['v'], does: 'Show or hide facets', run: turnFacets },
    {
      keys: ['r'],
      does: 'Show roots only or all calls',
      run: () => setSearch({ all: roots ? '1' : undefined }),
    },
    {
      keys: ['.'],
      does: 'Pause or resume live updates',
      run: () => list.pause(!list.isPaused.value),
    },
    { keys: ['N'], does: 'Show new calls', run: showFresh },
  ]
  useShortcuts('Calls', reading, changing)

  const error = list.error.value
  if (isForbidden(error)) return <FailedScreen name={`Calls of ${project}`} error={error} />
  const fresh = list.fresh.value
  const widths = shown.map(({ width }) => width).join(' ')
  return (
    <main class={`screen calls ${peek ? 'has-peek' : ''}`}>
      <h1 class="hidden-text">Calls of {project}</h1>
      <div class="filter-bar">
        <Fragment data-file={() => <FilterText text={text} roots={roots} />}>
          <FilterBar text={text} problem={read.problem} meant={meant} />
          <RootsSwitch roots={roots} />
          <button type="button" class="facets-switch" aria-pressed={hasFacets} onClick={turnFacets}>
            Facets
          </button>
          <ColumnChooser shown={shown} meant={meant} />
          <MoreActs>
            <SavedViews project={project} screen="calls" />
            <AlertLink {...{ project, text }} />
            <AskAgain view={view} count={count} />
            {mayWrite && (
              <button type="button" title="A dataset of these calls" onClick={() => void allToDataset()}>
                Dataset
              </button>
            )}
            <Export view={view} />
            <ExportButton
              what="list"
              load={async () => (await import('../../export/all.ts')).exportOfCalls(view, pageSize)}
            />
          </MoreActs>
          {examined && (
            <button type="button" onClick={() => setExamine(5 * examine)}>
              Look further
            </button>
          )}
          <LiveSwitch list={list} />
          <OriginSwitch meant={whole} isOn={isAll} />
        </Fragment>
        <output class="muted count">{isCounted && `${countText(count)} ${ofWhat}`}</output>
      </div>
      <DisconnectedNote />
      <div class="calls-body">
        {hasFacets && <Facets data-file={null} {...{ meant, text, pinned }} />}
        {error ? (
          <div class="in-place">
            <Failed error={error} retry={() => void list.reload()} />
          </div>
        ) : count === 0 ? (
          <div class="in-place">
            {examined ? (
              <Empty title="No calls match this filter so far" />
            ) : (
              <NoCalls project={project} isFiltered={text !== ''} />
            )}
          </div>
        ) : (
          <div
            class="grid calls-grid"
            role="grid"
            aria-label="Calls"
            aria-rowcount={(count ?? 0) + 1}
            aria-busy={count === undefined}
            aria-multiselectable="true"
            tabIndex={0}
            onScroll={() => keepPlace()}
            ref={(element) => {
              scroller.current = element
              element?.style.setProperty('--shown', widths)
            }}
          >
            <GridHead
              shown={shown}
              sort={view.sort}
              isAllSelected={chosen.size > 0 && chosen.size === Math.min(count ?? 0, maxSelected)}
              onSelectAll={(isSelected) => (isSelected ? void chooseAll() : setChosen(new Set()))}
            />
            <VirtualList
              scroller={scroller}
              count={count ?? 30}
              height={rowHeight}
              active={active}
              scrollRequest={scrollRequest}
              onRange={list.see}
              row={(index, top) => {
                const row = rowAt(index)
                return (
                  <CallLine
                    key={row?.id ?? index}
                    {...{ index, top, project, row }}
                    ofTrace={row && list.traceSums.value.get(row.id)}
                    columns={shown}
                    isActive={index === active}
                    isPeeked={row !== undefined && row.id === peek}
                    isChosen={row !== undefined && chosen.has(row.id)}
                    isGone={row !== undefined && list.gone.value.has(row.id)}
                    onOpen={() => {
                      setActive(index)
                      preview(row?.id)
                    }}
                    onLeave={() => keepPlace(index)}
                    onChoose={(isRange) => {
                      choose(isRange && active >= 0 ? between(active, index) : [index], isRange)
                      setActive(index)
                    }}
                  />
                )
              }}
            />
          </div>
        )}
        {peek !== undefined && (
          <aside class="peek" aria-label="Call details">
            <button
              type="button"
              class="icon-button peek-close"
              aria-label="Close"
              onClick={() => setSearch({ peek: undefined })}
            >
              <Icon name="close" />
            </button>
            <CallDetail project={project} call={peek} withTrace />
          </aside>
        )}
        {chosen.size > 0 && (
          <Selection
            {...{ view, front, setFront }}
            ids={[...chosen]}
            isCut={chosen.size === maxSelected && (count ?? 0) > maxSelected}
            onClear={() => setChosen(new Set())}
            onDeleted={() => {
              setChosen(new Set())
              showFresh()
            }}
          />
        )}
        {fresh > 0 && (
          <button type="button" class="fresh" onClick={showFresh}>
            {countText(fresh)} new
          </button>
        )}
      </div>
    </main>
  )
}

function NoCalls({ project, isFiltered }: { project: string; isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No calls match this filter">
        <button type="button" onClick={() => setSearch({ q: undefined })}>
          Show all calls
        </button>
      </Empty>
    )
  }
  return <FirstCall title="No calls yet" project={project} />
}
