import { Cost } from '../../parts/cost.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Failed } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import type { ObjectVersion } from '../../server/objects.ts'
import { fieldOf, meanText, scoreName, shareText, shownMean } from '../../value/scores.ts'
import { countText, durationText } from '../../value/units.ts'
import { RangeChoice, useRange } from '../agents/range.tsx'
import { judgementTexts, labelsOf, type PromptRun, readFigures, readJudgements } from './reading.ts'
import { Marks } from './screen.tsx'

interface Props {
  project: string
  prompt: string
  versions: readonly ObjectVersion[]
  shown: ObjectVersion
  /** Undefined until they are read. */
  runs: readonly PromptRun[] | undefined
}

/** What each version serves, and the runs with the one that is shown. */
export function Versions({ project, prompt, versions, shown, runs = [] }: Props) {
  const { range, since } = useRange()
  const figures = useLoading(
    (signal) => readFigures(project, prompt, since, signal),
    [project, prompt, since, shown],
  )
  const judgements = useLoading(
    (signal) => readJudgements(project, prompt, since, signal),
    [project, prompt, since, shown],
  )
  const figureOf = ({ digest }: ObjectVersion) => figures.value?.get(digest)
  const isSince = ({ at }: PromptRun) => since === undefined || Date.parse(at) >= since.getTime()
  const own = runs.filter(({ version }) => version === shown.digest)
  const compared = runs.slice(0, 100).map(({ id }) => id)
  const list = { isLoading: false, reload: figures.reload }
  return (
    <>
      <div class="prompt-tools">
        <h2>Versions</h2>
        <RangeChoice range={range} />
      </div>
      {figures.error && <Failed error={figures.error} retry={figures.reload} />}
      {judgements.error && <Failed error={judgements.error} retry={judgements.reload} />}
      <ListTable
        label="Versions"
        loaded={{ ...list, value: versions }}
        keyOf={({ digest }) => digest}
        columns={{
          Version: ({ version_index: index, digest }: ObjectVersion) => (
            <button
              type="button"
              class="chip"
              aria-pressed={digest === shown.digest}
              onClick={() => setSearch({ v: `v${index}` })}
            >
              v{index}
            </button>
          ),
          Digest: ({ digest }) => <code>{digest.slice(0, 8)}</code>,
          Labels: (version) => <Marks names={labelsOf(version)} />,
          By: ({ svc_user_id }) => svc_user_id,
          Saved: ({ created_at }) => <Time at={created_at} />,
          Calls: (version) => (
            <a href={paths.calls(project, { q: `attributes.heddle.prompt.version:=${version.digest}` })}>
              {countText(figureOf(version)?.span_count ?? 0)}
            </a>
          ),
          Errors: (version) => {
            const { span_count = 0, error_count = 0 } = figureOf(version) ?? {}
            return span_count === 0
              ? ''
              : `${countText(error_count)} (${shareText(error_count / span_count)})`
          },
          'Mean latency': (version) => {
            const { span_count = 0, total_duration_ms = 0 } = figureOf(version) ?? {}
            return span_count === 0 ? '' : durationText(total_duration_ms / span_count)
          },
          Cost: (version) => {
            const {
              total_cost_usd,
              total_input_tokens = 0,
              total_output_tokens = 0,
            } = figureOf(version) ?? {}
            return <Cost cost={total_cost_usd} tokens={total_input_tokens + total_output_tokens} />
          },
          ...(judgements.value && {
            'Feedback on calls': ({ digest }: ObjectVersion) => (
              <span class="quality-text">{judgementTexts(judgements.value ?? [], digest).join(', ')}</span>
            ),
          }),
          'Scores of runs': ({ digest }) => (
            <Scores runs={runs.filter((run) => run.version === digest && isSince(run))} />
          ),
        }}
        numbers={['Calls', 'Errors', 'Mean latency', 'Cost']}
        empty="No versions"
      />
      <div class="prompt-tools">
        <h2>Runs with v{shown.version_index}</h2>
        {compared.length > 1 && (
          <a class="button" href={paths.compare(project, { ids: compared.join(',') })}>
            Compare the runs of all versions
          </a>
        )}
      </div>
      {own.length === 0 ? (
        <p class="muted">None of the newest 100 runs of the project.</p>
      ) : (
        <ListTable
          label="Runs"
          loaded={{ ...list, value: own }}
          keyOf={({ id }) => id}
          columns={{
            Run: ({ id, name }: PromptRun) => <a href={paths.compare(project, { ids: id })}>{name}</a>,
            Evaluation: ({ evaluation }) => evaluation,
            Started: ({ at }) => <Time at={at} />,
            Scores: (run) => <Scores runs={[run]} />,
          }}
          empty="No runs"
        />
      )}
    </>
  )
}

/** Each score as the mean over all trials of the runs that have it. */
function Scores({ runs }: { runs: readonly PromptRun[] }) {
  const sums = new Map<string, { value: number; count: number; isShare: boolean }>()
  for (const stats of runs.flatMap((run) => run.stats)) {
    const mean = shownMean(stats)
    if (mean === undefined || mean.count === 0) continue
    const { value, count } = sums.get(fieldOf(stats)) ?? { value: 0, count: 0 }
    sums.set(fieldOf(stats), { ...mean, value: value + mean.value * mean.count, count: count + mean.count })
  }
  const shown = [...sums].map(
    ([field, { value, count, isShare }]) =>
      `${scoreName(field)} ${meanText({ value: value / count, isShare })}`,
  )
  return <span class="quality-text">{shown.join(', ')}</span>
}
