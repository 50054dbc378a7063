import { useState } from 'preact/hooks'
import type { Measure, Watched } from '../../../src/domain/alerts.ts'
import { FormDialog, numberIn } from '../../parts/form-dialog.tsx'
import { Time } from '../../parts/time.tsx'
import {
  type Condition,
  makeRule,
  measureTexts,
  severityTexts,
  tryRule,
  watchedTexts,
} from '../../server/alerts.ts'
import { useLoading } from '../../server/loading.ts'
import { readQueues } from '../../server/queues.ts'
import { countText } from '../../value/units.ts'
import { parseQuery } from '../calls/parse-query.ts'

interface Props {
  project: string
  /** Of the list of calls that led here. */
  filter: string
  onMade(): void
  onClose(): void
}

const firstValues = {
  ...{ name: '', on: 'call', filter: '', measure: 'error_rate', minutes: '60', scorer: '', path: '' },
  ...{ question: '', answer: '', queue: '', side: 'above', bound: '', severity: 'error', cooldown: '' },
}
type Values = typeof firstValues

/** A rule, which is tried on the last day before it is made. */
export function NewAlert({ project, filter, onMade, onClose }: Props) {
  const loaded = useLoading((signal) => readQueues(project, signal), [project])
  const queues = Object.fromEntries((loaded.value ?? []).map(({ id, name }) => [id, name]))
  return (
    <FormDialog
      title="New alert rule"
      fields={(values) => fieldsFor(values, queues)}
      first={{ ...firstValues, filter }}
      submit="Create rule"
      onSubmit={async (values) => {
        const severity = values.severity as keyof typeof severityTexts
        await makeRule(project, { name: values.name.trim(), severity, ...conditionIn(values) })
        onMade()
      }}
      {...{ onClose }}
    >
      {(values) => (
        <>
          {values.on === 'queue' && loaded.error && (
            <span class="problem">The queues cannot be read: {loaded.error.message}</span>
          )}
          <Trial {...{ project, values }} />
        </>
      )}
    </FormDialog>
  )
}

function fieldsFor({ on, measure }: Values, queues: Readonly<Record<string, string>> = {}) {
  const isDecision = on === 'decision'
  const isScored = on === 'score' || (on === 'window' && measure === 'score_avg')
  const isOfCalls = on === 'call' || (on === 'window' && measure !== 'score_avg')
  return {
    name: { label: 'Name', example: 'Failed answers' },
    on: { label: 'Looks at', choices: watchedTexts },
    measure: { label: 'Figure', choices: measureTexts, isHidden: on !== 'window' },
    minutes: { label: 'Of the last minutes', isHidden: on !== 'window' },
    filter: {
      label: 'Calls, by the filter of the list of calls',
      example: 'status:error latency:>2s',
      mayBeEmpty: true,
      isHidden: !isOfCalls,
    },
    scorer: { label: 'Scorer', example: 'any', mayBeEmpty: true, isHidden: !isScored },
    path: { label: 'Path of the score', example: 'correct.score', mayBeEmpty: true, isHidden: !isScored },
    question: { label: 'Name of the question', example: 'any', mayBeEmpty: true, isHidden: !isDecision },
    answer: { label: 'Answer', example: 'true', mayBeEmpty: true, isHidden: !isDecision },
    queue: {
      label: 'Queue',
      choices: { '': 'any', ...queues },
      mayBeEmpty: true,
      isHidden: on !== 'queue',
    },
    side: {
      label: isDecision ? 'Its probability is' : 'Is',
      choices: { above: 'above', below: 'below' },
      isHidden: on === 'call' || on === 'budget' || on === 'queue',
    },
    bound: {
      label: boundLabel(on),
      isHidden: on === 'call',
      ...(isDecision && { mayBeEmpty: true, example: 'the likeliest' }),
    },
    severity: { label: 'Severity', choices: severityTexts },
    cooldown: {
      label: 'Minutes of silence after a message',
      example: on === 'window' ? 'as long as the window' : 'none',
      mayBeEmpty: true,
    },
  }
}

function conditionIn(values: Values): Condition {
  const on = values.on as Watched
  const { filter: shownFilter, scorer: shownScorer } = fieldsFor(values)
  const read = shownFilter.isHidden ? { query: undefined } : parseQuery(values.filter)
  if (read.problem !== undefined) throw new Error(read.problem)
  const bounds = {
    ...(!shownScorer.isHidden && {
      scorer: values.scorer.trim() || undefined,
      path: values.path.trim() || undefined,
    }),
    ...((on === 'score' || on === 'window') && { [values.side]: numberIn(values.bound, boundLabel(on)) }),
  }
  const seconds = secondsIn(values.minutes, 'Of the last minutes')
  return {
    on,
    ...(read.query && { query: { $expr: read.query } }),
    ...(on === 'score' && { score: bounds }),
    ...(on === 'decision' && { decision: decisionIn(values) }),
    ...(on === 'queue' && {
      queue: { queue_id: values.queue || undefined, waiting: numberIn(values.bound, boundLabel(on)) },
    }),
    ...(on === 'budget' && { budget: { share: numberIn(values.bound, boundLabel(on)) / 100 } }),
    ...(on === 'window' && { window: { measure: values.measure as Measure, seconds, ...bounds } }),
    ...(values.cooldown.trim() !== '' && {
      cooldown_seconds: secondsIn(values.cooldown, 'Minutes without another'),
    }),
  }
}

/** An answer without a number has to be the likeliest. */
const decisionIn = ({ question, answer, side, bound }: Values) => ({
  question: question.trim() || undefined,
  answer: answer.trim() || undefined,
  ...(bound.trim() !== '' && { [side]: numberIn(bound, boundLabel('decision')) }),
})

const boundLabels: Partial<Record<string, string>> = {
  queue: 'From this many waiting items on, or 0: when none waits any more',
  budget: 'From this per cent of the amount on',
}
const boundLabel = (on: string) => boundLabels[on] ?? 'This number'

const secondsIn = (minutes: string, label: string) => Math.round(numberIn(minutes, label) * 60)

/** What the rule would have sent in the last day. */
function Trial({ project, values }: { project: string; values: Values }) {
  const [found, setFound] = useState<{
    of: Values
    trial?: Awaited<ReturnType<typeof tryRule>>
    error?: Error
  }>()
  const run = async () => {
    try {
      setFound({ of: values, trial: await tryRule(project, conditionIn(values)) })
    } catch (error) {
      setFound({ of: values, error: error as Error })
    }
  }
  // What was found for other values says nothing about these.
  const { trial, error } = found?.of === values ? found : {}
  return (
    <div class="form-acts">
      <button type="button" onClick={() => void run()}>
        Try on the last day
      </button>
      {error && <span class="problem">{error.message}</span>}
      {trial && (
        <output>
          {countText(trial.matches)} matches, {countText(trial.messages)} messages
          {!trial.is_complete && ' among the latest 10,000'}
          {trial.examples[0] && (
            <>
              {'; the latest '}
              <Time at={trial.examples[0].at} />
            </>
          )}
        </output>
      )}
    </div>
  )
}
