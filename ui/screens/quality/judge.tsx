import { useRef, useState } from 'preact/hooks'
import { FeedbackAuthor, FeedbackContent } from '../../call/feedback-content.tsx'
import { FormFooter, takeFocus } from '../../parts/form-footer.tsx'
import { useKeptForm } from '../../parts/kept-form.ts'
import { Select } from '../../parts/select.tsx'
import { Failed, FailedScreen } from '../../parts/states.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import { navigate, search } from '../../router.ts'
import { paths } from '../../routes.ts'
import { answeringModels, readEngine } from '../../server/engine.ts'
import { feedbackOf } from '../../server/feedback.ts'
import { useLoading } from '../../server/loading.ts'
import { readsOnly } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { makeScorer, readScorers, type TryResult, tryScorer } from '../../server/scorers.ts'
import { directionText } from '../../value/direction.ts'
import { jsonNode } from '../../value/json-index.ts'
import { callRefOf, objectIdOf } from '../../value/ref.ts'
import { ScoreValue } from '../../value/score-value.tsx'
import { countOf } from '../../value/units.ts'
import { CheckForm, checkKinds, checkRefusal, looksAtField } from './check-form.tsx'
import { type CallField, fieldsOf, readSamples } from './sample-calls.ts'
import { answerTexts, bodyOf, newDraft, problemOf, type ScorerDraft } from './scorer-draft.ts'

const kinds: Record<ScorerDraft['kind'], string> = {
  judge: 'A judge: a model is asked',
  questions: 'A judge of typed questions: a model answers with probabilities',
  ...checkKinds,
}

interface Entered {
  draft: ScorerDraft
  name: string
  filter: string
}

/** A new judge or check: written with fields of a real call, tried on calls, then stored. */
export function JudgeScreen({ project }: { project: string }) {
  const form = useKeptForm(
    `judge ${project}`,
    (kept: Partial<Entered>): Entered => ({
      ...{ name: '', filter: 'op:heddle.chat' },
      ...kept,
      draft: { ...newDraft, ...kept.draft },
    }),
  )
  const { draft, name, filter } = form.value
  const [tried, setTried] = useState<readonly TryResult[]>()
  const { isWorking, failure, work } = useWork()
  const prompt = useRef<HTMLTextAreaElement>(null)
  const samples = useLoading((signal) => readSamples(project, filter, signal), [project, filter])
  const [first] = samples.value ?? []
  const known = useLoading((signal) => readScorers(project, signal), [project]).value
  const id = objectIdOf(name.trim())
  const fields = first === undefined ? [] : fieldsOf(first)
  const change = (changes: Partial<ScorerDraft>) => {
    form.change({ draft: { ...draft, ...changes } })
    setTried(undefined)
  }
  const insert = ({ path }: CallField) => {
    const area = prompt.current
    const at = area?.selectionStart ?? draft.prompt.length
    const text = `{${path}}`
    change({ prompt: draft.prompt.slice(0, at) + text + draft.prompt.slice(area?.selectionEnd ?? at) })
    area?.focus()
  }
  const save = async () => {
    // A check passes or fails; of several questions none is better as a whole.
    const direction = draft.kind === 'judge' ? draft.direction : isJudge ? 'none' : 'higher'
    await makeScorer(project, name.trim(), { ...bodyOf(draft), direction })
    form.drop()
    navigate(backTo(id))
  }
  const attempt = async () => {
    const ids = (samples.value ?? []).map((sample) => sample.id)
    setTried(await tryScorer(project, bodyOf(draft), ids))
  }
  const { kind } = draft
  const check = kind === 'judge' || kind === 'questions' ? undefined : kind
  const isJudge = check === undefined
  const problem = problemOf(draft)
  const isReady = problem === undefined && !isWorking
  const canSave = isReady && name.trim() !== ''
  // What the judge is for goes on with it.
  const backTo = (made = '-') => {
    const wanted = search.value.get('for')
    if (wanted === 'monitor') return paths.monitors(project, { new: made })
    if (wanted !== 'run') return paths.judges(project)
    const rescore = search.value.get('rescore')
    return paths.newRun(project, { ...(rescore && { rescore }), ...(made !== '-' && { judge: made }) })
  }
  if (!may('write', project)) return <FailedScreen name="New judge" error={readsOnly} />
  return (
    <main class="screen sheet quality">
      <header class="sheet-head">
        <h1>New judge</h1>
      </header>
      <form class="form quality-form" onSubmit={ownSubmit(() => canSave && work(save))}>
        <label for="judge-name">Name</label>
        <input
          id="judge-name"
          ref={takeFocus}
          dir="auto"
          maxLength={128}
          placeholder="correct"
          value={name}
          onInput={({ currentTarget }) => form.change({ name: currentTarget.value })}
        />
        {known?.some((scorer) => scorer.name === id) && (
          <p class="muted" role="status">
            {id} exists: this becomes its newest version.
          </p>
        )}
        <label for="judge-kind">Kind</label>
        <Select id="judge-kind" choices={kinds} value={draft.kind} onChange={(kind) => change({ kind })} />
        {isJudge && (
          <>
            <label for="judge-prompt">
              {draft.kind === 'judge' ? 'Question to the model' : 'What the questions are about'}
            </label>
            <textarea
              id="judge-prompt"
              ref={prompt}
              dir="auto"
              rows={8}
              value={draft.prompt}
              onInput={({ currentTarget }) => change({ prompt: currentTarget.value })}
            />
            <ModelChoice id="judge-model" value={draft.model} onChange={(model) => change({ model })} />
          </>
        )}
        {draft.kind === 'judge' ? (
          <>
            <label for="judge-answer">It answers with a reason and</label>
            <Select
              id="judge-answer"
              choices={answerTexts}
              value={draft.answer}
              onChange={(answer) => change({ answer })}
            />
            <label for="judge-direction">Of its values</label>
            <Select
              id="judge-direction"
              choices={directionText}
              value={draft.direction}
              onChange={(direction) => change({ direction })}
            />
          </>
        ) : check ? (
          <CheckForm kind={check} values={draft.values} field={draft.field} onChange={change} />
        ) : (
          <>
            <label for="judge-wanted">
              Questions, a line each: “rude: Is it rude?”, “topic: Which? | law | other”, “good: How good?
              &lt; bad &lt; good”
            </label>
            <textarea
              id="judge-wanted"
              rows={2}
              value={draft.wanted}
              onInput={({ currentTarget }) => change({ wanted: currentTarget.value })}
            />
            <label>
              <input
                type="checkbox"
                checked={draft.isReasoned}
                onChange={({ currentTarget }) => change({ isReasoned: currentTarget.checked })}
              />{' '}
              It also writes why, once it has decided
            </label>
          </>
        )}
        <label for="judge-filter">Calls to try it on, by the filter of the list of calls</label>
        <input
          id="judge-filter"
          spellcheck={false}
          value={filter}
          onChange={({ currentTarget }) => {
            form.change({ filter: currentTarget.value })
            setTried(undefined)
          }}
        />
        {samples.error && <Failed error={samples.error} retry={samples.reload} />}
        {samples.value?.length === 0 && (
          <p class="muted">No call has this. In runs, inputs also have the columns of the row.</p>
        )}
        {(isJudge || looksAtField(check)) && fields.length > 0 && (
          <details open={isJudge}>
            <summary>Fields of the newest of them</summary>
            <ul class="quality-fields">
              {fields.map((field) => (
                <li key={field.path}>
                  <button
                    type="button"
                    class="chip"
                    onClick={() => (isJudge ? insert(field) : change({ field: field.path }))}
                  >
                    {field.path}
                  </button>
                  <span class="muted">{field.value}</span>
                </li>
              ))}
            </ul>
          </details>
        )}
        <div>
          <button
            type="button"
            disabled={!isReady || (samples.value?.length ?? 0) === 0}
            onClick={() => void work(attempt)}
          >
            {isWorking ? 'Trying…' : `Try on ${countOf(samples.value?.length ?? 0, 'call')}`}
          </button>
        </div>
        {tried && <Tried {...{ project, tried }} />}
        <FormFooter
          failure={failure && check ? checkRefusal(check, failure) : failure}
          missing={problem ?? (name.trim() === '' ? 'Give it a name.' : undefined)}
          onClose={() => {
            form.drop()
            navigate(backTo())
          }}
          canSubmit={canSave}
        >
          Save judge
        </FormFooter>
      </form>
    </main>
  )
}

function Tried({ project, tried }: { project: string; tried: readonly TryResult[] }) {
  return (
    <ul class="quality-tried" aria-label="What it says">
      {tried.map(({ call_id, output, detail }) => (
        <li key={call_id}>
          <a href={paths.call(project, call_id)}>Call {call_id.slice(-6)}</a>
          {detail === null ? (
            <ScoreValue node={jsonNode(JSON.stringify(output))} />
          ) : (
            <span class="problem">{detail}</span>
          )}
          <SaidByPeople {...{ project }} call={call_id} />
        </li>
      ))}
    </ul>
  )
}

/** What a judge should agree with, where there is something. */
function SaidByPeople({ project, call }: { project: string; call: string }) {
  const { value } = useLoading((signal) => feedbackOf(project, callRefOf(project, call), signal), [call])
  return value?.map(
    (entry) =>
      entry.runnable === undefined && (
        <div key={entry.id}>
          <FeedbackContent entry={entry} />{' '}
          <span class="muted">
            <FeedbackAuthor entry={entry} />
          </span>
        </div>
      ),
  )
}

interface ModelChoiceProps {
  id: string
  value: string
  onChange(model: string): void
}

/** A model that writes answers; the first if none is chosen. */
function ModelChoice({ id, value, onChange }: ModelChoiceProps) {
  const { value: engine } = useLoading(readEngine, [])
  const names = answeringModels(engine)
  return (
    <>
      <label for={id}>Model</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">first model{names[0] && `: ${names[0]}`}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </>
  )
}
