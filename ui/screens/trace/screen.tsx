import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CallDetail } from '../../call/detail.tsx'
import { ExportButton } from '../../export/button.tsx'
import { toggleValue } from '../../filter/facet-filter.ts'
import { Tokens } from '../../parts/cost.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { type Shortcut, useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, FailedScreen, LoadingScreen } from '../../parts/states.tsx'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { mostOfTrace, nameOf, readTrace, type TraceCall } from '../../server/calls.ts'
import { useLoading } from '../../server/loading.ts'
import { costText, countText, durationText } from '../../value/units.ts'
import { criticalPath } from './critical-path.ts'
import { showsInnerSteps, turnInnerSteps, withoutInnerSteps } from './inner-steps.ts'
import { lineHeight, TimeRuler, TraceLine } from './line.tsx'
import { evenScale, gapsIn, shortenedScale } from './time-scale.ts'
import { type Branch, costOfTrace, linesOf, type Span, spanOf, tokensOfTrace, treeOf } from './tree.ts'

/** The list of its calls, where they can be filtered and exported. */
const asList = (project: string, trace: string) =>
  paths.calls(project, { q: toggleValue('', { field: 'trace', value: trace, isJson: false }), all: '1' })

/** One trace: who called whom and when, and the selected call. */
export function TraceScreen({ project, trace }: { project: string; trace: string }) {
  const {
    value: rows,
    isPart = false,
    error,
    reload,
  } = useLoading<TraceCall[]>((signal, show) => readTrace(project, trace, signal, show), [project, trace])
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const asked = search.value.get('call') ?? undefined
  const brief = useMemo(() => withoutInnerSteps(rows ?? []), [rows])
  const inner = (rows?.length ?? 0) - brief.length
  // A call in the address is shown, whatever it is.
  const isAskedInner = useMemo(() => {
    const isAsked = ({ id }: TraceCall) => id === asked
    return inner > 0 && rows?.some(isAsked) && !brief.some(isAsked)
  }, [brief, asked])
  const isWhole = showsInnerSteps.value || isAskedInner
  const turnInner = () => {
    if (isAskedInner) setSearch({ call: undefined })
    if (showsInnerSteps.value === isWhole) turnInnerSteps()
  }
  const tree = useMemo(() => treeOf((isWhole && rows) || brief, Date.now()), [brief, isWhole])
  const all = useMemo(() => linesOf(tree, new Set()), [tree])
  const lines = useMemo(() => (closed.size === 0 ? all : linesOf(tree, closed)), [tree, closed])
  const span = useMemo(() => spanOf(all), [all])
  // The critical path and the gaps are known once all of the trace is loaded.
  const gaps = useMemo(() => (isPart ? [] : gapsIn(tree, span)), [all, isPart])
  const isEven = search.value.get('gaps') === 'all'
  const scale = useMemo(() => (isEven ? evenScale(span) : shortenedScale(span, gaps)), [gaps, isEven])
  const critical = useMemo(
    () => criticalPath(isPart ? [] : tree, (span.end - span.start) / 1_000),
    [tree, isPart],
  )
  const turnGaps = () => setSearch({ gaps: isEven ? undefined : 'all' })
  const chosen = asked ?? lines[0]?.row.id
  const at = lines.findIndex(({ row }) => row.id === chosen)
  const scroller = useRef<HTMLDivElement>(null)
  const [scrollRequest, setScrollRequest] = useState(0)
  const kept = useListPosition(trace)
  const keepPlace = useScrollRestoration(kept, {
    scroller,
    isLoaded: rows !== undefined && !isPart,
    active: at,
  })

  // A call in the address has to be visible, even if it is below a closed one.
  useEffect(() => {
    if (at === -1 && rows?.some(({ id }) => id === chosen)) setClosed(new Set())
  }, [at, rows])

  const choose = (index: number) => {
    const line = lines[Math.min(lines.length - 1, Math.max(0, index))]
    if (line) setSearch({ call: line.row.id })
    setScrollRequest(scrollRequest + 1)
  }
  const setOpen = (id: string, isOpen: boolean) => {
    const next = new Set(closed)
    if (isOpen) next.delete(id)
    else next.add(id)
    setClosed(next)
  }
  const current = lines[at]
  const callerAt = () => {
    for (let index = at - 1; index >= 0; index--) {
      if ((lines[index]?.depth ?? 0) < (current?.depth ?? 0)) return index
    }
    return at
  }
  const inward = () => {
    if (current === undefined) return
    if (closed.has(current.row.id)) setOpen(current.row.id, true)
    else if (current.children.length > 0) choose(at + 1)
  }
  const outward = () => {
    if (current === undefined) return
    if (current.children.length > 0 && !closed.has(current.row.id)) setOpen(current.row.id, false)
    else choose(callerAt())
  }
  const sibling = (by: 1 | -1) => {
    for (let index = at + by; index >= 0 && index < lines.length; index += by) {
      const depth = lines[index]?.depth ?? 0
      if (depth < (current?.depth ?? 0)) return
      if (depth === current?.depth) return choose(index)
    }
  }
  const nextThat = (by: 1 | -1, isMeant: (branch: Branch) => boolean) => {
    for (let index = at + by; index >= 0 && index < lines.length; index += by) {
      if (isMeant(lines[index] as Branch)) return choose(index)
    }
  }
  const isWaitedFor = (branch: Branch) => (critical.get(branch)?.length ?? 0) > 0
  const peer = (by: 1 | -1) => nextThat(by, ({ row }) => row.op_name === current?.row.op_name)
  /** After the last one comes the first. */
  const failure = (by: 1 | -1) => {
    const here = all.findIndex(({ row }) => row.id === chosen)
    for (let step = 1; step <= all.length; step++) {
      const row = all.at((here + by * step) % all.length)?.row
      if (row?.status !== 'error') continue
      setSearch({ call: row.id })
      setScrollRequest(scrollRequest + 1)
      return
    }
  }
  const toCalls = () => navigate(paths.calls(project))
  const moving: Shortcut[] = [
    { keys: ['j', 'ArrowDown'], does: 'Next call', run: () => choose(at + 1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous call', run: () => choose(at - 1) },
    { keys: ['l', 'ArrowRight'], does: 'Expand, or go to the first child', run: inward },
    { keys: ['h', 'ArrowLeft'], does: 'Collapse, or go to the caller', run: outward },
    { keys: [']'], does: 'Next call of the same caller', run: () => sibling(1) },
    { keys: ['['], does: 'Previous call of the same caller', run: () => sibling(-1) },
    { keys: ['}'], does: 'Next call of the same op', run: () => peer(1) },
    { keys: ['{'], does: 'Previous call of the same op', run: () => peer(-1) },
    { keys: ['>'], does: 'Next call that the trace waited for', run: () => nextThat(1, isWaitedFor) },
    { keys: ['<'], does: 'Previous call that the trace waited for', run: () => nextThat(-1, isWaitedFor) },
    { keys: ['f'], does: 'Next failed call', run: () => failure(1) },
    { keys: ['F'], does: 'Previous failed call', run: () => failure(-1) },
    ...(gaps.length > 0 ? [{ keys: ['z'], does: 'Shorten gaps or show them in full', run: turnGaps }] : []),
    ...(inner > 0 ? [{ keys: ['I'], does: 'Show inner steps or hide them', run: turnInner }] : []),
    { keys: ['g g', 'Home'], does: 'First call', run: () => choose(0) },
    { keys: ['G', 'End'], does: 'Last call', run: () => choose(lines.length - 1) },
  ]
  useShortcuts('Trace', moving, [{ keys: ['Escape'], does: 'Back to the calls', run: toCalls }])

  if (error) return <FailedScreen name="Trace" {...{ error, retry: reload }} />
  if (rows === undefined) return <LoadingScreen />
  if (rows.length === 0) {
    return (
      <main class="screen">
        <h1 class="hidden-text">Trace</h1>
        <Empty title="Trace not found">
          <p>It was deleted, has expired, or belongs to a project that you have no access to.</p>
          <a class="button" href={paths.calls(project)}>
            All calls of the project
          </a>
        </Empty>
      </main>
    )
  }
  const root = tree[0]?.row
  const cost = isPart ? undefined : costOfTrace(tree)
  const tokens = isPart ? undefined : tokensOfTrace(tree)
  const failed = all.filter(({ row }) => row.status === 'error').length
  return (
    <main class="screen trace">
      <h1 class="hidden-text">Trace{root && ` of ${nameOf(root)}`}</h1>
      <div class="trace-bar">
        <a class="icon-button" data-file={null} href={paths.calls(project)} aria-label="Back to the calls">
          <Icon name="back" />
        </a>
        <span>
          {countText(all.length)} {all.length === 1 ? 'call' : 'calls'}
          {isPart && ' so far'}
          {!isPart && rows.length === mostOfTrace && ', and more not shown'}
        </span>
        {!isPart && <span>{durationText(span.end - span.start)}</span>}
        {tokens !== undefined && <Tokens {...tokens} />}
        {cost !== undefined && <span>{costText(cost)}</span>}
        {failed > 0 && (
          <button
            type="button"
            class="quiet trace-failed"
            title="Next failed call (f)"
            onClick={() => failure(1)}
          >
            {countText(failed)} failed
          </button>
        )}
        <a data-file={null} href={asList(project, trace)}>
          View as list
        </a>
        {inner > 0 && (
          <button type="button" class="quiet" title="Spans with a duration only (I)" onClick={turnInner}>
            {isWhole ? 'Hide' : 'Show'} {countText(inner)} inner {inner === 1 ? 'step' : 'steps'}
          </button>
        )}
        {gaps.length > 0 && (
          <button type="button" class="quiet" aria-pressed={!isEven} onClick={turnGaps}>
            {gapsText(gaps)}, {isEven ? 'in full' : 'shortened'}
          </button>
        )}
        <code class="muted">{trace}</code>
        <button type="button" class="icon-button" data-file={null} aria-label="Reload" onClick={reload}>
          <Icon name="refresh" />
        </button>
        <ExportButton
          what="trace"
          load={async () => (await import('../../export/all.ts')).exportOfTrace(project, trace, chosen, root)}
          hasKey
        />
      </div>
      <div class="trace-body">
        <div class="trace-tree">
          <TimeRuler scale={scale} start={span.start} />
          <div
            class="tree"
            role="tree"
            aria-label="Calls of the trace"
            aria-busy={isPart}
            tabIndex={0}
            ref={scroller}
            onScroll={() => keepPlace()}
            aria-activedescendant={at === -1 ? undefined : `call-${at}`}
          >
            <VirtualList
              scroller={scroller}
              count={lines.length}
              height={lineHeight}
              active={at}
              scrollRequest={scrollRequest}
              row={(index, top) => {
                const branch = lines[index]
                return (
                  branch && (
                    <TraceLine
                      key={branch.row.id}
                      {...{ index, top, branch, scale }}
                      critical={critical.get(branch)}
                      isChosen={index === at}
                      isClosed={closed.has(branch.row.id)}
                      onChoose={() => choose(index)}
                      onToggle={() => setOpen(branch.row.id, closed.has(branch.row.id))}
                    />
                  )
                )
              }}
            />
          </div>
        </div>
        <div class="trace-detail">
          {chosen !== undefined && <CallDetail project={project} call={chosen} onChanged={reload} />}
        </div>
      </div>
    </main>
  )
}

/** The length in time, since a shortened gap no longer shows it. */
function gapsText(gaps: readonly Span[]): string {
  const long = durationText(gaps.reduce((sum, { start, end }) => sum + end - start, 0))
  return gaps.length === 1 ? `A gap of ${long}` : `${gaps.length} gaps of ${long}`
}
