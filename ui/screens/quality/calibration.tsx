import { useState } from 'preact/hooks'
import { AddToQueue } from '../../adding/add-to-queue.tsx'
import { Fact, PlainTable } from '../../parts/plain-table.tsx'
import { Select } from '../../parts/select.tsx'
import { Empty, Failed, FailedScreen, Problem, Skeleton } from '../../parts/states.tsx'
import { useWork } from '../../parts/work.ts'
import { search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import {
  type Agreement,
  type Calibrated,
  type Estimate,
  fitCalibration,
  type Report,
  readReport,
  thumbs,
} from '../../server/calibrations.ts'
import { useLoading } from '../../server/loading.ts'
import { readSpecs } from '../../server/objects.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { readScorers } from '../../server/scorers.ts'
import { answerText, numberText } from '../../value/scores.ts'
import { countOf, countText } from '../../value/units.ts'

const readChoices = async (project: string, judge: string, signal: AbortSignal) => {
  const [scorers, specs] = await Promise.all([readScorers(project, signal), readSpecs(project, signal)])
  const scorer = scorers.find(({ name }) => name === judge)
  const questions = scorer?.judge?.questions ?? []
  return {
    isThere: scorer !== undefined,
    questions: questions.map(({ name }) => name),
    specs: [...specs.map(({ id }) => id), thumbs],
  }
}

/** How far the questions of a judge can be believed, by what people said about the same calls. */
export function CalibrationScreen({ project, judge }: { project: string; judge: string }) {
  const { value, error, reload } = useLoading(
    (signal) => readChoices(project, judge, signal),
    [project, judge],
  )
  if (isForbidden(error)) return <FailedScreen name="Calibration" error={error} />
  const asked = search.value
  const { questions = [], specs = [] } = value ?? {}
  const chosen = { question: questions, labels: specs }
  const [question, annotation] = Object.entries(chosen).map(([name, all]) => asked.get(name) ?? all[0])
  return (
    <main class="screen sheet quality">
      <header class="sheet-head monitor-head">
        <h1>
          Calibration of <bdi>{judge}</bdi>
        </h1>
        <div class="head-tools">
          {questions.length > 0 &&
            Object.entries(chosen).map(([name, all]) => (
              <span key={name} class="in-line">
                {name === 'labels' ? 'Labels' : 'Question'}
                <Select
                  aria-label={name === 'labels' ? 'Labels' : 'Question'}
                  choices={Object.fromEntries(all.map((choice) => [choice, choice]))}
                  value={(name === 'labels' ? annotation : question) ?? ''}
                  onChange={(value) => setSearch({ [name]: value })}
                />
              </span>
            ))}
        </div>
      </header>
      {error && <Failed error={error} retry={reload} />}
      {!error && !value && <Skeleton rows={6} />}
      {value &&
        (question && annotation ? (
          <Reliability
            key={`${question} ${annotation}`}
            {...{ project, question, annotation }}
            scorer={judge}
          />
        ) : (
          <Empty title={value.isThere ? 'This judge has no questions' : 'Judge not found'}>
            {value.isThere && <p>Labels are what people answer in a queue with questions of its own.</p>}
            <a class="button" href={paths.judges(project)}>
              All judges
            </a>
          </Empty>
        ))}
    </main>
  )
}

function Reliability(asked: Calibrated) {
  const { project } = asked
  const { value, error, reload } = useLoading((signal) => readReport(asked, signal), [])
  const [isQueueing, setQueueing] = useState(false)
  const [said, setSaid] = useState<string>()
  const { isWorking, failure, work } = useWork()
  if (error) return <Failed {...{ error }} retry={reload} />
  if (value === undefined) return <Skeleton rows={6} />
  const [report, agreement] = value
  const { labels, decisions, labels_to_halve, before, after, why, review, improbable } = report
  const fit = async () => {
    setSaid(undefined)
    const ref = await fitCalibration(asked)
    setSaid(ref ? `Stored: ${ref}. Name it as calibration of the question.` : (why ?? ''))
  }
  return (
    <>
      <p>
        {countText(labels)} of {countOf(decisions, 'decision')} {decisions === 1 ? 'has' : 'have'} a label
        {labels > 0 && `; ${countText(labels_to_halve)} more would halve the intervals`}.{' '}
        {why ? `No calibration: ${why}.` : 'A calibration helps.'}
        {improbable > 0 &&
          ` ${countOf(improbable, 'decision')} left out: the probabilities do not add up to 1.`}
      </p>
      {may('write', project) && (
        <p class="head-tools">
          <button type="button" disabled={why !== null || isWorking} onClick={() => void work(fit)}>
            {isWorking ? 'Calibrating…' : 'Calibrate'}
          </button>
          {review.length > 0 && (
            <button type="button" onClick={() => setQueueing(true)}>
              Review the {review.length} that teach most
            </button>
          )}
        </p>
      )}
      <Problem text={failure?.message} />
      {said && <p role="status">{said}</p>}
      {isQueueing && <AddToQueue {...{ project }} calls={review} onClose={() => setQueueing(false)} />}
      {before && (
        <>
          <PlainTable
            label="Error"
            className="calibration-errors"
            columns={['Error', 'As it is', 'Calibrated']}
          >
            {Object.entries(errors).map(([name, text]) => (
              <tr key={name}>
                <td>{text}</td>
                {[before, after].map((quality, index) => (
                  <td key={index}>{estimateText(quality?.[name as keyof typeof errors])}</td>
                ))}
              </tr>
            ))}
          </PlainTable>
          <Diagram bins={before.bins} />
        </>
      )}
      <Confusion {...{ project, agreement }} />
    </>
  )
}

const errors = { log_loss: 'Log loss', brier: 'Brier score', ece: 'Calibration error', excess: 'Too sure by' }

const estimateText = (estimate: Estimate | null | undefined): string => {
  if (!estimate) return '–'
  const [value, low, high] = [estimate.value, estimate.low, estimate.high].map(numberText)
  return `${value} (${low} to ${high})`.replaceAll('-', '−')
}

/** How often it was right against its probability: on the line, both are the same. */
function Diagram({ bins }: { bins: NonNullable<Report['before']>['bins'] }) {
  return (
    <figure class="reliability">
      <svg viewBox="-19 -4 128 112" role="img" aria-label="How often it was right, by its probability">
        {[0, 50, 100].flatMap((tick) => [
          <text key={tick} x={tick} y={107} text-anchor="middle">{`${tick} %`}</text>,
          <text key={`right ${tick}`} x={-3} y={102 - tick} text-anchor="end">{`${tick} %`}</text>,
        ])}
        <path d="M0 0V100H100M0 100L100 0" fill="none" />
        {bins.map(({ count, probability, share, low, high }) => (
          <g key={probability}>
            <title>{`${numberText(probability)}: right ${numberText(share)} of ${count}`}</title>
            <path d={`M${probability * 100} ${100 - low * 100}V${100 - high * 100}`} />
            <circle cx={probability * 100} cy={100 - share * 100} r={2} />
          </g>
        ))}
      </svg>
      <figcaption class="muted">Up: how often it was right. Across: how sure it was.</figcaption>
    </figure>
  )
}

/** What the judge and people said, with the calls of each cell. */
function Confusion({ project, agreement }: { project: string; agreement: Agreement }) {
  const { confusion, notes } = agreement
  const rates = {
    'Agreement (κ)': agreement.kappa,
    'Agreement (AC1)': agreement.ac1,
    'Share of yes that it found': agreement.true_positive_rate,
    'Share of no that it found': agreement.true_negative_rate,
    'Agreement of people (κ)': agreement.humans?.kappa,
    'Agreement of people (α)': agreement.humans?.alpha,
    'True share of yes': agreement.prevalence?.corrected,
  }
  return (
    <>
      <dl class="facts flush">
        {Object.entries(rates).map(([name, rate]) => (
          <Fact key={name} {...{ name }}>
            {estimateText(rate)}
          </Fact>
        ))}
      </dl>
      {notes.length > 0 && <p class="muted">{notes.join('; ')}</p>}
      <PlainTable label="Agreement" columns={['People say', 'The judge says', 'Calls']}>
        {confusion.map(({ human, judge, count, call_ids }) => (
          <tr key={`${human} ${judge}`}>
            <td>{answerText(String(human))}</td>
            <td>{answerText(String(judge))}</td>
            <td>
              <details>
                <summary>{countText(count)}</summary>
                {call_ids.map((id) => (
                  <a key={id} href={paths.call(project, id)}>
                    {id.slice(-6)}{' '}
                  </a>
                ))}
              </details>
            </td>
          </tr>
        ))}
      </PlainTable>
    </>
  )
}
