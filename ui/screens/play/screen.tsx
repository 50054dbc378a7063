import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { entryState } from '../../history.ts'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Failed } from '../../parts/states.tsx'
import { search, setSearch } from '../../router.ts'
import { isProject } from '../../routes.ts'
import { readEngine } from '../../server/engine.ts'
import { useLoading } from '../../server/loading.ts'
import { may } from '../../server/rights.ts'
import { currentUser } from '../../server/session.ts'
import { AnswerView } from './answer-view.tsx'
import { Conversation } from './conversation.tsx'
import { CopyDialog } from './copy-menu.tsx'
import { createPlay, isAnyBusy, type Play } from './play.ts'
import type { Run } from './run.ts'
import { SettingsPanel } from './settings-panel.tsx'

const nameless = () => {
  const [first = '*'] = currentUser.value?.entities ?? []
  return `${first === '*' ? 'main' : first}/default`
}

/** Asks the model. Each answer is a call of the project. */
export function PlayScreen() {
  const project = search.value.get('p') ?? ''
  useEffect(() => {
    if (project === '') setSearch({ p: nameless() })
  }, [project])
  return project === '' ? null : <Playground project={project} />
}

function Playground({ project }: { project: string }) {
  // Who goes back to this entry of the history finds the answers again.
  const [{ left, keep }] = useState(entryState<Record<'a' | 'b', Run | undefined>>)
  const [play] = useState(() => {
    const fresh = createPlay(() => search.value.get('p') ?? project)
    for (const name of ['a', 'b'] as const) fresh[name].run.value = left?.[name]
    return fresh
  })
  const [isCopying, setCopying] = useState(false)
  const { value: engine, error, reload } = useLoading(readEngine, [])
  const main = useRef<HTMLDivElement>(null)
  // A layout effect, because a user types as soon as the screen is seen.
  useLayoutEffect(() => {
    // Who returns to an answer reads it.
    if (left?.a === undefined && left?.b === undefined) lastMessageIn(main.current)?.focus()
  }, [])
  useEffect(() => {
    const end = play.open()
    return () => {
      end()
      keep({ a: play.a.run.peek(), b: play.b.run.peek() })
    }
  }, [play])
  const isBusy = isAnyBusy(play)
  const isEmpty = play.turns.value.every(
    ({ text, rest }) => text.trim() === '' && Object.keys(rest).length === 0,
  )
  const isReader = !may('infer', project)
  const mayAsk = !isEmpty && !isReader
  const ask = () => {
    if (mayAsk) play.ask()
  }
  useShortcuts('Playground', [
    { keys: ['Ctrl+Enter'], does: 'Ask', whileTyping: true, run: ask },
    { keys: ['Escape'], does: 'Stop', run: play.stop },
    {
      keys: ['b'],
      does: 'Compare with other settings',
      run: () => play.compare(play.shown.value.length === 1),
    },
    { keys: ['y'], does: 'Copy as curl or code', run: () => setCopying(true) },
  ])
  // Which models can answer is known once they are loaded.
  const answering = engine?.models.filter(
    ({ names, tasks }) => names.length === 0 || tasks.includes('answers'),
  )
  const models = answering?.flatMap(({ names }) => names) ?? []
  return (
    <main class="screen play">
      <h1 class="hidden-text">Playground</h1>
      <PlayBar
        {...{ play, project }}
        undo={isEmpty ? play.undo.value : undefined}
        copy={() => setCopying(true)}
      />
      <div class="play-body">
        <div class="play-main" ref={main}>
          {error && <Failed error={error} retry={reload} />}
          {engine?.models.length === 0 && (
            <p class="notice">
              No model is served here, so nothing will answer. Start the server with <code>HEDDLE_MODEL</code>
              .
            </p>
          )}
          {engine !== undefined && engine.models.length > 0 && answering?.length === 0 && (
            <p class="notice">
              The models served here make vectors and rank documents, but do not write answers.
            </p>
          )}
          {!play.isKept.value && (
            <p class="notice" role="status">
              This conversation is too long for the browser to keep: closing or reloading the tab loses it.
            </p>
          )}
          {isReader && <p class="notice">Your role in {project} may read, and not ask models.</p>}
          <RecordNotice play={play} recording={engine?.recording} />
          {play.failure.value && <Failed error={play.failure.value} />}
          <Conversation play={play}>
            {isBusy ? (
              <button type="button" class="main-button" onClick={play.stop}>
                Stop
              </button>
            ) : (
              <button type="button" class="main-button" disabled={!mayAsk} onClick={ask}>
                Ask
              </button>
            )}
          </Conversation>
          <div class="answers">
            {play.shown.value.map((side) => (
              <AnswerView key={side.name} {...{ play, side, project }} />
            ))}
          </div>
        </div>
        <SettingsPanel play={play} models={models} />
      </div>
      {isCopying && <CopyDialog play={play} project={project} onClose={() => setCopying(false)} />}
    </main>
  )
}

const lastMessageIn = (screen: HTMLElement | null) =>
  [...(screen?.querySelectorAll<HTMLTextAreaElement>('.turn textarea') ?? [])].at(-1)

interface BarProps {
  play: Play
  project: string
  undo: (() => void) | undefined
  copy(): void
}

function PlayBar({ play, project, undo, copy }: BarProps) {
  const isCompared = play.shown.value.length > 1
  return (
    <div class="play-bar">
      <label for="play-project">Recorded in</label>
      <input
        id="play-project"
        spellcheck={false}
        value={project}
        onChange={({ currentTarget }) => {
          const name = currentTarget.value.trim()
          if (isProject(name)) setSearch({ p: name })
          else currentTarget.value = project
        }}
      />
      <div class="play-acts">
        <button type="button" aria-pressed={isCompared} onClick={() => play.compare(!isCompared)}>
          Compare A and B
        </button>
        <button type="button" onClick={copy}>
          Copy as
        </button>
        <button type="button" onClick={undo ?? play.clear}>
          {undo ? 'Undo clear' : 'Clear'}
        </button>
      </div>
    </div>
  )
}

/** Says before anything is asked whether it will be recorded. */
function RecordNotice({ play, recording }: { play: Play; recording: string | undefined }) {
  if (recording === 'off') {
    return <p class="notice">Recording is off for you: answers here are not stored as calls.</p>
  }
  const unstored = play.shown.value.filter(({ settings }) => settings.value.get('store') !== 'true')
  if (recording !== 'asked' || unstored.length === 0) return null
  const store = () => {
    for (const side of unstored) play.set(side, 'store', 'true')
  }
  return (
    <p class="notice">
      This server records only requests that ask for it.{' '}
      <button type="button" onClick={store}>
        Record requests from here
      </button>
    </p>
  )
}
