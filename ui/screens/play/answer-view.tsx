import { useState } from 'preact/hooks'
import { AddToDataset } from '../../adding/add-to-dataset.tsx'
import { AddToQueue } from '../../adding/add-to-queue.tsx'
import { Thumbs } from '../../call/thumbs.tsx'
import { AddButtons } from '../../parts/add-buttons.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { statusWords } from '../../parts/status.tsx'
import { paths } from '../../routes.ts'
import { jsonNode } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { Markdown } from '../../value/markdown.tsx'
import { callRefOf } from '../../value/ref.ts'
import { countText, durationText } from '../../value/units.ts'
import type { Choice } from './answer.ts'
import { CallResults } from './call-results.tsx'
import { GrowingText } from './growing-text.tsx'
import type { Play, Side } from './play.ts'
import { isBusy, type Run, tokensPerSecond } from './run.ts'
import { isJson } from './settings.ts'
import { Surprise } from './surprise.tsx'
import { Waiting, WaitingForSlot } from './waiting.tsx'

interface Props {
  play: Play
  side: Side
  project: string
}

/** The answer of one side, while it is written and afterwards. */
export function AnswerView({ play, side, project }: Props) {
  const run = side.run.value
  const [front, setFront] = useState<'queue' | 'dataset'>()
  const isCompared = play.shown.value.length > 1
  const name = isCompared ? `Answer ${side.name.toUpperCase()}` : 'Answer'
  return (
    <section class="answer" aria-label={name} aria-busy={isBusy(run)}>
      <header>
        <h2>{name}</h2>
        {run?.callId && (
          <a href={paths.call(project, run.callId)} class="answer-call">
            View call
          </a>
        )}
        {run?.callId && !isBusy(run) && (
          <>
            <Thumbs project={project} about={callRefOf(project, run.callId)} hasKeys={!isCompared} />
            <AddButtons project={project} add={setFront} />
          </>
        )}
        {isBusy(run) && (
          <button type="button" onClick={side.stop}>
            Stop
          </button>
        )}
      </header>
      {run && <Figures run={run} />}
      {front === 'queue' && run?.callId && (
        <AddToQueue project={project} calls={[run.callId]} onClose={() => setFront(undefined)} />
      )}
      {front === 'dataset' && run?.callId && (
        <AddToDataset project={project} calls={[run.callId]} onClose={() => setFront(undefined)} />
      )}
      {run === undefined ? (
        <p class="muted">The answer will appear here.</p>
      ) : (
        <Body {...{ play, side, run }} />
      )}
    </section>
  )
}

function Figures({ run }: { run: Run }) {
  const { answer, state, askedAt, firstAt, lastAt } = run
  const pace = tokensPerSecond(run)
  const { usage } = answer
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0
  return (
    <span class="answer-figures muted" role={isBusy(run) ? undefined : 'status'}>
      {states[state]}
      {usage && `, ${countText(usage.completion_tokens)} tokens`}
      {pace !== undefined && `, ${pace < 10 ? pace.toFixed(1) : countText(pace)} tokens/s`}
      {firstAt !== undefined && `, first after ${durationText(firstAt - askedAt)}`}
      {!isBusy(run) && lastAt !== undefined && `, ${durationText(lastAt - askedAt)} in total`}
      {usage && `, prompt of ${countText(usage.prompt_tokens)}`}
      {cached > 0 && ` (${countText(cached)} cached)`}
    </span>
  )
}

const states: Record<Run['state'], string> = {
  held: 'queued',
  waiting: 'waiting',
  writing: 'writing',
  done: statusWords.success,
  stopped: statusWords.stopped,
  failed: 'failed',
}

function Body({ play, side, run }: { play: Play; side: Side; run: Run }) {
  const { answer, error, callId, widened, state, before } = run
  const settings = side.settings.value
  const wantsJson = settings.has('response_format') || settings.has('structured_outputs')
  return (
    <>
      {state === 'held' && <WaitingForSlot />}
      {state === 'waiting' && <Waiting askedAt={run.askedAt} />}
      {error && (
        <p class="problem" role="alert">
          {error.message}
        </p>
      )}
      {callId === null && (
        <p class="notice">
          This answer is not in the record: recording is off on this server, for your key, or by{' '}
          <code>store</code>.
        </p>
      )}
      {widened !== undefined && (
        <p class="notice">These parts of the tool schemas are not enforced: {widened}.</p>
      )}
      {answer.choices.map((choice, index) => (
        <ChoiceView
          key={`${run.askedAt} ${index}`}
          {...{ play, side, choice, before, wantsJson }}
          isOver={!isBusy(run)}
          of={answer.choices.length > 1 ? index + 1 : undefined}
        />
      ))}
      {answer.json !== undefined && (
        <details class="answer-json">
          <summary>The whole answer as JSON</summary>
          <JsonTree node={jsonNode(answer.json)} open={2} />
        </details>
      )}
    </>
  )
}

interface ChoiceProps {
  play: Play
  side: Side
  choice: Choice
  before: string
  wantsJson: boolean
  isOver: boolean
  of: number | undefined
}

const views = ['text', 'tree', 'surprise'] as const
type View = (typeof views)[number]
const viewNames: Record<View, string> = { text: 'Text', tree: 'Tree', surprise: 'Surprise' }

function ChoiceView({ play, side, choice, before, wantsJson, isOver, of }: ChoiceProps) {
  const [chosen, setChosen] = useState<View>()
  const { content, thought, calls, tokens, finish, stop } = choice
  const whole = before + content
  const isTree = isOver && /^\s*[[{]/.test(whole) && isJson(whole)
  const possible = views.filter((view) => view === 'text' || (view === 'tree' ? isTree : tokens.length > 0))
  const usual: View = tokens.length > 0 && isOver ? 'surprise' : isTree && wantsJson ? 'tree' : 'text'
  const view = chosen !== undefined && possible.includes(chosen) ? chosen : usual
  const isRenewable = isOver && calls.length === 0
  return (
    <div class="choice">
      {(of !== undefined || possible.length > 1) && (
        <div class="choice-head">
          {of !== undefined && <h3>Choice {of}</h3>}
          {possible.length > 1 && (
            <fieldset class="segments">
              <legend class="hidden-text">Show as</legend>
              {possible.map((one) => (
                <button key={one} type="button" aria-pressed={one === view} onClick={() => setChosen(one)}>
                  {viewNames[one]}
                </button>
              ))}
            </fieldset>
          )}
        </div>
      )}
      {thought !== '' && (
        <details class="thought">
          <summary>Thought, {countText(thought.length)} characters</summary>
          {isOver ? <Markdown text={thought} /> : <GrowingText text={thought} />}
        </details>
      )}
      {view === 'text' && (
        <>
          {before !== '' && <p class="answer-before">{before}</p>}
          {isOver ? <Markdown text={content} /> : <GrowingText text={content} />}
        </>
      )}
      {view === 'tree' && <JsonTree node={jsonNode(whole)} />}
      {view === 'surprise' && (
        <SurpriseOf
          {...{ choice, before }}
          onFork={(at, rank) => play.fork(side, tokens, at, rank)}
          isOver={isOver}
        />
      )}
      {calls.length > 0 && (
        <CallResults
          calls={calls}
          onResults={isOver ? (results) => play.answerCalls(side, choice, results) : undefined}
        />
      )}
      {isOver && (
        <footer class="choice-foot">
          {finish !== undefined && (
            <span class="muted">
              ended by {finish}
              {stop !== undefined && stop !== null && ` (${String(stop)})`}
            </span>
          )}
          {isRenewable && (
            <button type="button" onClick={() => play.keep(side, choice)}>
              Continue with this answer
            </button>
          )}
          <CopyButton text={whole} label="Copy answer">
            Copy
          </CopyButton>
        </footer>
      )}
    </div>
  )
}

interface SurpriseOfProps {
  choice: Choice
  before: string
  isOver: boolean
  onFork(at: number, rank: number): void
}

function SurpriseOf({ choice: { tokens }, before, isOver, onFork }: SurpriseOfProps) {
  return (
    <>
      {before !== '' && <p class="answer-before">{before}</p>}
      <Surprise tokens={tokens} onFork={isOver ? onFork : undefined} />
    </>
  )
}
