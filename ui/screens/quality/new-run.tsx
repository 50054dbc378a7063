import { useState } from 'preact/hooks'
import { FormFooter, takeFocus } from '../../parts/form-footer.tsx'
import { useKeptForm } from '../../parts/kept-form.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import { navigate, search } from '../../router.ts'
import { paths } from '../../routes.ts'
import { newestFirst, readPage } from '../../server/calls.ts'
import { readDatasets, tableOf } from '../../server/datasets.ts'
import { answeringModels, readEngine } from '../../server/engine.ts'
import { useLoading } from '../../server/loading.ts'
import { readObject } from '../../server/objects.ts'
import { isForbidden, readsOnly } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { isServed, readScorers, type Scorer } from '../../server/scorers.ts'
import { startRuns } from '../../server/served-runs.ts'
import { countRows, readRows } from '../../server/tables.ts'
import { type JsonNode, jsonNode, membersOf, nodeAt, stringOf } from '../../value/json-index.ts'
import { countOf, countText, durationText } from '../../value/units.ts'
import { UploadDataset } from './datasets.tsx'
import { Rescore } from './rescore.tsx'
import { newRunDraft, type RunSettings, runBody, settingsOf, textsOf } from './run-draft.ts'
import { estimateJudges, estimateTime, estimateTokens, sampledRows } from './run-estimate.ts'
import { RunProgress } from './run-progress.tsx'
import { RunSettingsForm } from './run-settings.tsx'
import { ScorerChoice } from './scorer-choice.tsx'
import { allRows, SplitChoice } from './split-choice.tsx'

/** A new run as a form; once started, its progress. The runs are in the address, so the tab may be closed meanwhile. */
export function NewRunScreen({ project }: { project: string }) {
  const idsAt = (name: string) => search.value.get(name)?.split(',').filter(Boolean)
  const [runs, beside, source] = [idsAt('runs'), idsAt('with') ?? [], search.value.get('rescore')]
  // Who started them here and waits is shown their results.
  const [isAwaited, setAwaited] = useState(false)
  const onStarted = () => setAwaited(true)
  if (runs !== undefined) return <RunProgress key={runs.join()} {...{ project, runs, beside, isAwaited }} />
  if (source) return <Rescore {...{ project, source, onStarted }} />
  return <NewRun key={search.value.get('dataset')} {...{ project, onStarted }} />
}

interface Known {
  datasets: readonly string[]
  scorers: readonly Scorer[]
  models: readonly string[]
}

async function readKnown(project: string, signal: AbortSignal): Promise<Known> {
  const [datasets, scorers, engine] = await Promise.all([
    readDatasets(project, signal),
    readScorers(project, signal),
    readEngine(signal),
  ])
  return {
    datasets: datasets.map(({ object_id }) => object_id),
    scorers: scorers.filter(isServed),
    models: answeringModels(engine),
  }
}

/** How many rows a dataset has, and its first ones. */
async function readSize(project: string, dataset: string, signal: AbortSignal) {
  if (dataset === '') return undefined
  const table = tableOf((await readObject(project, dataset, 'latest', signal)).val)
  if (table === undefined) return { rows: 0, sample: [] }
  const [rows, sample] = await Promise.all([
    countRows(table.project, table.table, signal),
    readRows({ project: table.project, table: table.table }, { offset: 0, limit: sampledRows }, signal),
  ])
  return { rows, sample: sample.map(({ val }) => val) }
}

/** Calls whose latency stands for that of the next. */
const latestCalls = 50

/** The mean latency of the latest answers of each model, in milliseconds; judges write less than others. */
async function readLatencies(project: string, models: readonly string[], signal: AbortSignal) {
  const found = models.map(async (model) => {
    const is = (name: string, value: string) => ({ $eq: [{ $getField: name }, { $literal: value }] })
    const query = { $and: [is('model', model), { $not: [is('op_name', 'heddle.judge')] }] }
    const view = { project, roots: false, query, sort: newestFirst }
    const calls = await readPage(view, {}, { offset: 0, limit: latestCalls }, signal)
    const known = calls.flatMap(({ status, latency_ms }) => (status === 'success' ? (latency_ms ?? []) : []))
    return known.length === 0 ? undefined : known.reduce((sum, ms) => sum + ms, 0) / known.length
  })
  return Promise.all(found)
}

interface NewRunProps {
  project: string
  onStarted(): void
}

interface RunFormProps extends NewRunProps {
  known: Known
  onUpload(): void
}

function NewRun({ project, onStarted }: NewRunProps) {
  const known = useLoading((signal) => readKnown(project, signal), [project])
  const [isUploading, setUploading] = useState(false)
  const { value } = known
  const error = may('infer', project) ? known.error : readsOnly
  if (isForbidden(error)) return <FailedScreen name="New run" error={error} />
  return (
    <main class="screen sheet quality">
      <header class="sheet-head">
        <h1>New run</h1>
      </header>
      {error && <Failed error={error} retry={known.reload} />}
      {!error && value === undefined && <Skeleton rows={8} />}
      {value?.datasets.length === 0 && (
        <Empty title="No datasets yet">
          <p>A run asks a model about every row of a dataset.</p>
          <a class="button" href={paths.datasets(project)}>
            Make a dataset
          </a>
        </Empty>
      )}
      {value !== undefined && value.datasets.length > 0 && (
        <RunForm {...{ project, onStarted }} known={value} onUpload={() => setUploading(true)} />
      )}
      {isUploading && <UploadDataset project={project} onClose={() => setUploading(false)} />}
    </main>
  )
}

function RunForm({ project, onStarted, known, onUpload }: RunFormProps) {
  const { datasets, scorers, models } = known
  const { value, change, drop } = useKeptForm(`run ${project}`, newRunDraft)
  const { name, chosen, split, repeats, concurrency } = value
  const dataset = value.dataset || (datasets[0] ?? '')
  const settings = settingsOf(value)
  const setSettings = (next: readonly RunSettings[]) => change({ settings: textsOf(next) })
  const [isAdded, setAdded] = useState(false)
  const { isWorking, failure, work } = useWork()
  const size = useLoading((signal) => readSize(project, dataset, signal), [project, dataset])
  const sample = size.value?.sample ?? []
  const [first] = sample
  const columns = first === undefined ? [] : membersOf(first).map((member) => member.name)
  const hasMessages = nodeAt(first, 'messages')?.kind === 'array'
  const prompt = value.prompt ?? (hasMessages || first === undefined ? '' : `{${questionIn(first)}}`)
  const count = Number(repeats)
  const isCount = /^\d+$/.test(repeats.trim()) && count >= 1 && count <= 1000
  const isBounded = /^\d+$/.test(concurrency.trim()) && Number(concurrency) >= 1 && Number(concurrency) <= 16
  const answers = (size.value?.rows ?? 0) * settings.length * (isCount ? count : 1)
  const { asked, maxAnswered } = estimateTokens({
    ...{ rows: size.value?.rows ?? 0, sample, prompt, settings },
    repeats: isCount ? count : 1,
  })
  const judges = scorers.filter(({ name, judge }) => judge && chosen.includes(name))
  const judging = estimateJudges({ sample, prompt }, judges, answers)
  const asking = settings.map(
    ({ fields }) => stringOf(jsonNode(fields.get('model') ?? '""')) || (models[0] ?? ''),
  )
  const latencies = useLoading((signal) => readLatencies(project, asking, signal), [project, asking.join()])
  const time =
    latencies.value &&
    estimateTime(answers / settings.length, latencies.value, isBounded ? Number(concurrency) : 4)
  const runName = name.trim() === '' ? `${dataset} run` : name.trim()
  const missing =
    size.value?.rows === 0
      ? 'The dataset has no rows.'
      : !hasMessages && prompt.trim() === ''
        ? 'Write the message, for example with a column of the dataset.'
        : settings.some((side) => side.name.trim() === '')
          ? 'Name each of the settings.'
          : !isCount
            ? 'Each row is asked 1 to 1,000 times.'
            : !isBounded
              ? 'One to 16 rows are asked at the same time.'
              : undefined
  const isReady = answers > 0 && missing === undefined && !isWorking
  const start = async () => {
    const body = runBody({
      project,
      dataset,
      split,
      prompt,
      settings,
      ...{ repeats: count, concurrency: Number(concurrency) },
      name: runName,
      scorers: chosen,
    })
    const { evaluation_run_ids } = await startRuns(project, body)
    drop()
    onStarted()
    navigate(paths.newRun(project, { runs: evaluation_run_ids.join(',') }), { replaces: true })
  }
  const changeSettings = (at: number, changes: Partial<RunSettings>) =>
    setSettings(settings.map((side, index) => (index === at ? { ...side, ...changes } : side)))
  return (
    <form class="form quality-form" onSubmit={ownSubmit(() => isReady && work(start))}>
      <label for="run-dataset">Dataset</label>
      <select
        id="run-dataset"
        ref={takeFocus}
        value={dataset}
        // Another dataset has other columns.
        onChange={({ currentTarget }) =>
          change({ dataset: currentTarget.value, split: allRows, prompt: undefined })
        }
      >
        {datasets.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {may('write', project) && (
        <div class="choices is-bare">
          <button type="button" class="quiet" onClick={onUpload}>
            From a file
          </button>
          <a class="button quiet" href={paths.calls(project)}>
            From calls
          </a>
        </div>
      )}
      {size.error && <Failed error={size.error} retry={size.reload} />}
      <SplitChoice {...{ sample, split }} onChange={(next) => change({ split: next })} />
      <label for="run-name">Name</label>
      <input
        id="run-name"
        dir="auto"
        maxLength={64}
        placeholder={`${dataset} run`}
        value={name}
        onInput={({ currentTarget }) => change({ name: currentTarget.value })}
      />
      <label for="run-prompt">Message to the model</label>
      <textarea
        id="run-prompt"
        dir="auto"
        rows={3}
        placeholder={hasMessages ? 'Leave empty to ask the conversation of the row' : ''}
        value={prompt}
        onInput={({ currentTarget }) => change({ prompt: currentTarget.value })}
      />
      <div class="choices is-bare" role="group" aria-label="Columns">
        {columns.map((column) => (
          <button
            key={column}
            type="button"
            class="chip"
            onClick={() => change({ prompt: `${prompt}{${column}}` })}
          >
            {column}
          </button>
        ))}
      </div>
      <div class="run-settings-list">
        {settings.map((side, index) => (
          <RunSettingsForm
            key={index}
            letter={'ab'[index] ?? ''}
            settings={side}
            {...{ models }}
            isAdded={index === 1 && isAdded}
            onChange={(changes) => changeSettings(index, changes)}
            onRemove={
              settings.length > 1 ? () => setSettings(settings.filter((_, at) => at !== index)) : undefined
            }
          />
        ))}
      </div>
      {settings.length < 2 && (
        <div>
          <button
            type="button"
            onClick={() => {
              setSettings([...settings, { ...(settings[0] as RunSettings), name: 'B' }])
              setAdded(true)
            }}
          >
            Compare with other settings
          </button>
        </div>
      )}
      <ScorerChoice
        {...{ project, scorers, chosen }}
        back={{ for: 'run' }}
        onChange={(next) => change({ chosen: next })}
      />
      <label for="run-repeats">Times that each row is asked</label>
      <input
        id="run-repeats"
        inputMode="numeric"
        aria-invalid={!isCount}
        value={repeats}
        onInput={({ currentTarget }) => change({ repeats: currentTarget.value })}
      />
      <label for="run-concurrency">Rows that are asked at the same time</label>
      <input
        id="run-concurrency"
        inputMode="numeric"
        aria-invalid={!isBounded}
        value={concurrency}
        onInput={({ currentTarget }) => change({ concurrency: currentTarget.value })}
      />
      <p class="muted" role="status">
        {split.column !== '' && 'At most '}
        {countOf(size.value?.rows ?? 0, 'row')} × {countOf(settings.length, 'setting')} ×{' '}
        {isCount ? count : '?'} = {countOf(answers, 'answer')}
        {chosen.length > 0 && `, ${countOf(answers * chosen.length, 'score')}`}, about{' '}
        {countOf(asked, 'token')} of questions
        {maxAnswered !== undefined && ` and at most ${countText(maxAnswered)} of answers`}.{' '}
        {judges.length > 0 &&
          `${judges.length === 1 ? 'The judge reads' : 'The judges read'} about ${countOf(judging.read, 'token')} more, the answers not counted, and ${judges.length === 1 ? 'writes' : 'write'} ${judging.maxWritten === 0 ? 'none' : `at most ${countText(judging.maxWritten)}`}. `}
        {latencies.value &&
          (time === undefined
            ? `How long it takes is not known: a model has no calls yet. `
            : `The answers take about ${durationText(time)}, estimated from the latest calls of ${[...new Set(asking)].join(' and ')}. `)}
        The server continues without this tab.
      </p>
      <FormFooter
        {...{ failure }}
        onClose={() => {
          drop()
          navigate(paths.evals(project))
        }}
        canSubmit={isReady}
        missing={size.value && missing}
      >
        Start run
      </FormFooter>
    </form>
  )
}

/** The column that most likely has the question. */
function questionIn(row: JsonNode): string {
  const texts = membersOf(row).filter(({ node }) => node.kind === 'string')
  const likely = texts.find(({ name }) => /question|prompt|input|text/i.test(name))
  return (likely ?? texts[0])?.name ?? ''
}
