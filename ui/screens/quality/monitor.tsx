import { useState } from 'preact/hooks'
import { wordingOf } from '../../filter/conditions.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Cost, Tokens } from '../../parts/cost.tsx'
import { PlainTable } from '../../parts/plain-table.tsx'
import { Empty, Failed, FailedScreen, Problem, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useWork } from '../../parts/work.ts'
import { navigate } from '../../router.ts'
import { paths } from '../../routes.ts'
import { readBuckets } from '../../server/charts.ts'
import { useLoading } from '../../server/loading.ts'
import {
  deleteMonitor,
  judgeOldCalls,
  type MonitorStats,
  readMonitor,
  readStats,
  readWorstScores,
  switchMonitor,
} from '../../server/monitors.ts'
import { existedUntilDeleted, isForbidden, isMissing } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { readDirections } from '../../server/scorers.ts'
import { directionOf } from '../../value/direction.ts'
import { jsonNode } from '../../value/json-index.ts'
import { previewText } from '../../value/preview-text.ts'
import { parseRef } from '../../value/ref.ts'
import { ScoreValue } from '../../value/score-value.tsx'
import { numberText, shareText } from '../../value/scores.ts'
import { countOf, countText, timeText } from '../../value/units.ts'
import { parseQuery } from '../calls/parse-query.ts'

const days = 14
const dayMs = 86_400_000
/** Judged at once from the page. */
const oldCalls = 100

interface Day {
  from: string
  stats: MonitorStats | undefined
}

/** A monitor with its figures by day, and its worst scores. */
async function readAll(project: string, id: string, signal: AbortSignal) {
  const monitor = await readMonitor(project, id, signal)
  const midnight = Math.floor(Date.now() / dayMs) * dayMs
  const starts = Array.from({ length: days }, (_, index) => midnight - (days - 1 - index) * dayMs)
  const [[stats], ...byDay] = await Promise.all([
    readStats(project, [id], signal),
    ...starts.map(async (start): Promise<Day> => {
      const time = {
        after: new Date(start).toISOString(),
        before: new Date(start + dayMs - 1).toISOString(),
      }
      const [own] = await readStats(project, [id], signal, time)
      return { from: time.after, stats: own }
    }),
  ])
  const stated = await readDirections(project, signal)
  const worst = await Promise.all(
    (stats?.scores ?? []).map(async (score) => {
      const isLowerBetter = directionOf(`scores.${score.scorer}.${score.path}`, stated) === 'lower'
      const rows = await readWorstScores(project, id, score, isLowerBetter, signal)
      return { score, isLowerBetter, rows }
    }),
  )
  return { monitor, stats, byDay, worst, spent: await readSpent(project, id, starts[0] ?? 0, signal) }
}

/** The calls of the judges of a monitor, as the filter of the list of calls. */
const callsOfJudges = (id: string) => `op:=heddle.judge attributes.heddle.judge.monitor:=${id}`

/** What its judges have used since then; nothing where that cannot be added up. */
async function readSpent(project: string, id: string, start: number, signal: AbortSignal) {
  const { query } = { query: undefined, ...parseQuery(callsOfJudges(id)) }
  const [after, before, stepSeconds] = [new Date(start), new Date(), dayMs / 1000]
  const view = { project, roots: false, query, after, before, stepSeconds, by: undefined }
  const { buckets } = await readBuckets(view, 'latency', signal).catch(() => ({ buckets: [] }))
  return buckets.reduce(
    (sum, { count, input_tokens, output_tokens, cost }) => ({
      calls: sum.calls + count,
      input: sum.input + input_tokens,
      output: sum.output + output_tokens,
      cost: cost == null ? sum.cost : (sum.cost ?? 0) + cost,
    }),
    { calls: 0, input: 0, output: 0, cost: undefined as number | undefined },
  )
}

/** What a monitor has judged: the mean over time, what it could not judge, and the worst scores first. */
export function MonitorScreen({ project, monitor: id }: { project: string; monitor: string }) {
  const { value, error, reload } = useLoading((signal) => readAll(project, id, signal), [project, id])
  const [isDeleting, setDeleting] = useState(false)
  const { isWorking, failure, work } = useWork()
  if (isForbidden(error) || isMissing(error)) {
    const missing = { title: 'Monitor not found', href: paths.monitors(project), to: 'All monitors' }
    return <FailedScreen name="Monitor" error={error as Error} {...{ missing }} />
  }
  const change = (changing: Promise<unknown>) => work(() => changing.then(reload))
  const { monitor, stats } = value ?? {}
  const wording = monitor && wordingOf(monitor)
  return (
    <main class="screen sheet quality">
      <header class="sheet-head monitor-head">
        <h1 dir="auto">{monitor?.name ?? 'Monitor'}</h1>
        {monitor && may('write', project) && (
          <div class="head-tools">
            <button
              type="button"
              disabled={isWorking}
              onClick={() => void change(judgeOldCalls(project, id, oldCalls))}
            >
              {isWorking ? 'Judging…' : `Judge ${oldCalls} older calls`}
            </button>
            <button type="button" onClick={() => void change(switchMonitor(project, id, !monitor.active))}>
              {monitor.active ? 'Pause' : 'Resume'}
            </button>
            <button type="button" class="bad-button" onClick={() => setDeleting(true)}>
              Delete
            </button>
          </div>
        )}
      </header>
      {error && <Failed error={error} retry={reload} />}
      <Problem text={failure?.message} />
      {!error && value === undefined && <Skeleton rows={6} />}
      {value && monitor && stats && (
        <>
          <p>
            {monitor.scorers.map(({ scorer }) => parseRef(scorer)?.name ?? scorer).join(', ')} on{' '}
            {shareText(monitor.sampling_rate)} of {wording?.text ? 'the calls below' : 'all calls'}.{' '}
            {monitor.active ? '' : `Paused. ${monitor.stopped ?? ''} `}
            {countText(stats.judged)} judged, {countText(stats.skipped)} skipped, {countText(stats.failed)}{' '}
            failed, {countText(stats.pending)} waiting
            {stats.waits !== null && `: ${inOwnFormats(stats.waits)}`}. Today{' '}
            {countOf(stats.tokens_today, 'token')}
            {stats.token_budget !== null && ` of ${countText(stats.token_budget)}`}.
          </p>
          {value.spent.calls > 0 && (
            <p>
              In {days} days{' '}
              <a href={paths.calls(project, { q: callsOfJudges(id), all: '1', judged: '1' })}>
                {countOf(value.spent.calls, 'call')} of its judges
              </a>
              : <Tokens {...value.spent} />, cost{' '}
              <Cost cost={value.spent.cost} tokens={value.spent.input + value.spent.output} />
            </p>
          )}
          {wording?.text && (
            <p class="monitor-calls">
              Calls:{' '}
              <code dir="auto">
                {wording.isFilter ? (
                  <a href={paths.calls(project, { q: wording.text, all: '1' })}>{wording.text}</a>
                ) : (
                  wording.text
                )}
              </code>
            </p>
          )}
          {stats.judged + stats.skipped + stats.failed === 0 && (
            <Empty title="Nothing judged yet">
              <p>
                {monitor.active ? 'Calls are judged as they end.' : 'It is paused, so no call is judged.'}{' '}
                Means and the worst scores appear here.
              </p>
            </Empty>
          )}
          {value.worst.map(({ score, isLowerBetter, rows }) => (
            <section key={`${score.scorer} ${score.path}`} aria-label={nameOf(score)}>
              <h2>
                {nameOf(score)}:{' '}
                {score.is_boolean ? `yes in ${shareText(score.mean)}` : `mean ${numberText(score.mean)}`} of{' '}
                {countText(score.count)}
              </h2>
              <MeansByDay byDay={value.byDay} score={score} />
              <PlainTable
                label={`${isLowerBetter ? 'Highest' : 'Lowest'} of ${nameOf(score)}`}
                columns={[isLowerBetter ? 'Highest first' : 'Lowest first', 'Score', 'Judged']}
              >
                {rows.map(({ call, asked, output, at }) => (
                  <tr key={`${call} ${at}`}>
                    <td class="quality-asked">
                      <a dir="auto" href={paths.call(project, call)}>
                        {previewText(asked ?? '') || `Call ${call.slice(-6)}`}
                      </a>
                    </td>
                    <td class="quality-text">
                      <ScoreValue node={jsonNode(JSON.stringify(output))} />
                    </td>
                    <td>
                      <Time at={at} />
                    </td>
                  </tr>
                ))}
              </PlainTable>
            </section>
          ))}
          {stats.reasons.length > 0 && (
            <PlainTable label="Not judged" columns={['Judge', 'State', 'Calls', 'Why']}>
              {stats.reasons.map(({ scorer, state, reason, count, detail }) => (
                <tr key={`${scorer} ${state} ${reason}`}>
                  <td>{scorer}</td>
                  <td>{state === 'pending' ? 'waiting' : state}</td>
                  <td>{countText(count)}</td>
                  <td class="quality-why">{inOwnFormats(detail ?? reason)}</td>
                </tr>
              ))}
            </PlainTable>
          )}
        </>
      )}
      {isDeleting && monitor && (
        <ConfirmDialog
          title={`Delete ${monitor.name}?`}
          text="It judges no more calls. The scores stay."
          yes="Delete monitor"
          onYes={async () => {
            await existedUntilDeleted(deleteMonitor(project, id))
            navigate(paths.monitors(project))
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </main>
  )
}

/** Why it waits, with its times and large numbers as on the rest of the page. */
const inOwnFormats = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => timeText(new Date(at), new Date(), 'minute'))
    .replace(/\d{4,}(?= tokens)/g, (count) => countText(Number(count)))

type Score = MonitorStats['scores'][number]

/** The value of a question has the name of the question. */
const nameOf = ({ scorer, path }: Pick<Score, 'scorer' | 'path'>) =>
  `${scorer} ${(path ?? '').replace(/(^|\.)value$/, '')}`.trim()

/** Days are those of UTC. */
const dayText = (from: string) =>
  timeText(new Date(from.slice(0, 10).replaceAll('-', '/')), new Date(), 'day')

/** A bar for the mean of each day, between the lowest and the highest score. */
function MeansByDay({ byDay, score }: { byDay: readonly Day[]; score: Score }) {
  const textOf = score.is_boolean ? shareText : numberText
  const means = byDay.map(({ from, stats }) => ({
    from,
    own: stats?.scores.find(({ scorer, path }) => scorer === score.scorer && path === score.path),
  }))
  const low = Math.min(0, score.min)
  const range = Math.max(score.max, 1) - low
  return (
    <figure class="means-by-day">
      <svg viewBox={`0 0 ${days * 20} 60`} role="img" aria-label={`Mean of ${nameOf(score)} by day`}>
        {means.map(
          ({ from, own }, index) =>
            own && (
              <rect
                key={from}
                x={index * 20 + 2}
                width={16}
                y={60 - Math.max(1, ((own.mean - low) / range) * 58)}
                height={Math.max(1, ((own.mean - low) / range) * 58)}
              >
                <title>{`${dayText(from)}: ${textOf(own.mean)} of ${own.count}`}</title>
              </rect>
            ),
        )}
      </svg>
      <figcaption class="muted">
        {dayText(means[0]?.from ?? '')} to {dayText(means.at(-1)?.from ?? '')}, UTC; from {textOf(low)} to{' '}
        {textOf(low + range)}
      </figcaption>
    </figure>
  )
}
