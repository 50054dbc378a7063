import { Fragment } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { ExportButton } from '../../export/button.tsx'
import { live } from '../../export/contents.ts'
import { ofApplication, showsAllOrigins } from '../../filter/origin.ts'
import { unpricedText } from '../../parts/cost.tsx'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { MoreActs } from '../../parts/more-acts.tsx'
import { OriginSwitch } from '../../parts/origin-switch.tsx'
import { RootsSwitch } from '../../parts/roots-switch.tsx'
import { SavedViews } from '../../parts/saved-views.tsx'
import { type Shortcut, useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { type ChartView, type GroupField, readBuckets } from '../../server/charts.ts'
import { followEvents } from '../../server/events.ts'
import { useLoading } from '../../server/loading.ts'
import { isForbidden } from '../../server/request.ts'
import { countOf, countText } from '../../value/units.ts'
import { FilterBar, FilterText } from '../calls/filter-bar.tsx'
import { parseQuery } from '../calls/parse-query.ts'
import { Chart } from './chart.tsx'
import { createCharts, type Shown } from './data.ts'
import { type Range, rangeIn, rangeText, spans } from './range.ts'
import { feedbackPanel, feedbackSeries, type Panel, panels, seriesOf } from './series.ts'

const groupings: readonly { by: GroupField | undefined; label: string }[] = [
  { by: undefined, label: 'No grouping' },
  { by: 'op', label: 'By op' },
  { by: 'model', label: 'By model' },
  { by: 'status', label: 'By status' },
  { by: 'user', label: 'By user' },
  { by: 'origin', label: 'By origin' },
]

/** Calls, errors, tokens, cost, latency and feedback over time. */
export function ChartsScreen({ project }: { project: string }) {
  const asked = search.value
  const [rangeGiven, byGiven, text] = [asked.get('range'), asked.get('by'), asked.get('q') ?? '']
  const roots = asked.get('all') !== '1'
  const by = groupings.find((one) => one.by === byGiven)?.by
  const read = useMemo(() => parseQuery(text), [text])
  const given = 'query' in read ? read.query : undefined
  const judged = asked.get('judged')
  const isAll = showsAllOrigins(judged, text)
  const whole = useMemo(() => ({ project, roots, query: given }), [project, roots, given])
  const query = useMemo(() => (isAll ? given : ofApplication(given)), [given, isAll])
  const { problem } = read
  const viewOf = ({ after, before, stepSeconds }: Range): ChartView => ({
    ...{ project, roots, query, after, before, stepSeconds, by },
  })
  const charts = useMemo(
    () => createCharts(viewOf, () => rangeIn(rangeGiven, new Date())),
    [project, roots, query, rangeGiven, by],
  )
  useEffect(() => {
    const unfollow = followEvents((heard) => {
      if (heard === 'resync' || heard.project === project) charts.hear(heard)
    })
    return () => {
      unfollow()
      charts.close()
    }
  }, [charts])
  const choose = (range: string) => setSearch({ range }, {})
  const bindings: Shortcut[] = [
    ...spans.map(({ name, label }, index) => ({
      keys: [String(index + 1)],
      does: `Show the last ${label.toLowerCase()}`,
      run: () => choose(name),
    })),
    {
      keys: ['b'],
      does: 'Change grouping',
      run: () => {
        const next = (groupings.findIndex((one) => one.by === by) + 1) % groupings.length
        setSearch({ by: groupings[next]?.by })
      },
    },
    {
      keys: ['a'],
      does: 'Show all calls or roots only',
      run: () => setSearch({ all: roots ? '1' : undefined }),
    },
  ]
  useShortcuts('Charts', [], bindings)
  const { shown, error } = charts
  const there = shown.value
  const { latency } = there?.of ?? {}
  const screen = useRef<HTMLElement>(null)
  const kept = useListPosition(JSON.stringify([project, roots, text, rangeGiven, by, judged]))
  const isLoaded = there !== undefined && charts
  const keepPlace = useScrollRestoration(kept, { scroller: screen, isLoaded, active: -1 })
  const callsOf = (first: Date, end: Date, more?: string) => {
    const conditions = [
      text && `(${text})`,
      more,
      `started:>=${first.toISOString()}`,
      `started:<${end.toISOString()}`,
    ]
    return paths.calls(project, {
      q: conditions.filter(Boolean).join(' '),
      ...(!roots && { all: '1' }),
      ...(judged && { judged }),
    })
  }
  const isEmpty = there !== undefined && there.of.latency.buckets.length === 0
  /** What all charts have in common. */
  const frameOf = (filter: string | undefined) => {
    const { times, range } = there as Shown
    const endOf = (bucket: number) => times[bucket + 1] ?? range.before
    return {
      times,
      end: range.before,
      linkOf: (bucket: number) => callsOf(times[bucket] as Date, endOf(bucket), filter),
      onChoose: (first: number, last: number) => {
        const [from, to] = [times[first] as Date, endOf(last)]
        if (first === last) navigate(callsOf(from, to, filter))
        else choose(rangeText(from, to))
      },
    }
  }
  const drawnOf = (panel: Panel) =>
    seriesOf(panel, (there as Shown).of[panel.timed], (there as Shown).times, by !== undefined)
  const noteOf = ({ name }: Panel) => {
    const buckets = name === 'cost' ? (there?.of.latency.buckets ?? []) : []
    const unpriced = buckets.reduce((sum, bucket) => sum + (bucket.unpriced ?? 0), 0)
    const isOfRoots = roots && ['read', 'written', 'cost'].includes(name)
    if (!isOfRoots && unpriced === 0) return undefined
    return (
      <>
        {isOfRoots && 'Of roots only: calls inside them are not counted. '}
        {unpriced > 0 && <Unpriced {...{ project }} count={unpriced} view={viewOf((there as Shown).range)} />}
      </>
    )
  }
  if (isForbidden(error.value)) return <FailedScreen name="Charts" error={error.value} />
  return (
    <main class="screen charts" ref={screen} onScroll={() => keepPlace()}>
      <div class="filter-bar">
        <h1 class="hidden-text">Charts</h1>
        <Fragment data-file={() => <FilterText text={text} roots={roots} />}>
          <FilterBar text={text} problem={problem} meant={{ project, roots, query }} />
          <div class="segments" role="group" aria-label="Time range">
            {spans.map(({ name, label }) => (
              <button
                key={name}
                type="button"
                aria-pressed={(rangeGiven ?? '24h') === name}
                onClick={() => choose(name)}
              >
                {label}
              </button>
            ))}
          </div>
          <select
            aria-label="Group"
            value={by ?? ''}
            onChange={({ currentTarget }) => setSearch({ by: currentTarget.value })}
          >
            {groupings.map(({ by: one, label }) => (
              <option key={label} value={one ?? ''}>
                {label}
              </option>
            ))}
          </select>
          <MoreActs>
            <SavedViews project={project} screen="charts" />
            <RootsSwitch roots={roots} />
            {there && (
              <ExportButton
                what="charts"
                load={async () =>
                  (await import('../../export/all.ts')).exportOfCharts(viewOf, there.range, asked)
                }
                hasKey
              />
            )}
            <OriginSwitch meant={whole} isOn={isAll} />
          </MoreActs>
        </Fragment>
      </div>
      {error.value && <Failed error={error.value} retry={() => void charts.reload()} />}
      {!error.value && there === undefined && <Skeleton rows={8} />}
      {latency?.is_deriving && <p class="muted note">Older calls are still being read: numbers may grow.</p>}
      {latency?.sampled != null && <p class="muted note">Of the newest {countText(latency.sampled)} calls</p>}
      {isEmpty && (
        <Empty title="No calls in this time range">
          {rangeGiven !== '1y' && (
            <button type="button" onClick={() => choose('1y')}>
              Show the last year
            </button>
          )}
        </Empty>
      )}
      {there !== undefined && !isEmpty && (
        <div class="chart-grid">
          {panels.map((panel) => (
            <Chart
              key={panel.name}
              {...{ panel, ...frameOf(panel.filter) }}
              drawn={drawnOf(panel)}
              note={noteOf(panel)}
            />
          ))}
          <Chart
            {...{ panel: feedbackPanel, ...frameOf(feedbackPanel.filter) }}
            drawn={feedbackSeries(there.feedback, there.times)}
          />
        </div>
      )}
    </main>
  )
}

/** Names the models whose calls no cost includes, with the way to the prices; those of an exported file are not known. */
function Unpriced({ project, count, view }: { project: string; count: number; view: ChartView }) {
  const { value } = useLoading(
    async (signal) => live(true) && readBuckets({ ...view, by: 'model' }, 'latency', signal),
    [project, view.roots, view.query, count],
  )
  const without = new Set((value?.buckets ?? []).flatMap(({ unpriced, group }) => (unpriced ? group : [])))
  const models = [...without].flatMap((group) => value?.groups[group]?.value ?? [])
  return (
    <>
      {countOf(count, 'call')} not included. {unpricedText(models)}{' '}
      {value && <a href={paths.prices(project, models[0])}>Prices</a>}
    </>
  )
}
