import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { FormFooter } from '../parts/form-footer.tsx'
import { Failed, Problem, Skeleton } from '../parts/states.tsx'
import { ownSubmit } from '../parts/work.ts'
import { paths } from '../routes.ts'
import { draftSettings } from '../screens/play/draft.ts'
import { settingsIn } from '../screens/play/settings.ts'
import type { CallsView, Part } from '../server/calls.ts'
import { useLoading } from '../server/loading.ts'
import { countText } from '../value/units.ts'
import { findRecordedRequests, maxCalls, type Progress, runAgain } from './run.ts'

interface Props {
  view: CallsView
  part: Part
  /** Calls of the view. */
  count: number | undefined
  onClose(): void
}

/** Asks recorded questions again with other settings, and links to the comparison with what was recorded. */
export function RunAgain({ view, part, count, onClose }: Props) {
  const { project } = view
  const { value, error, reload } = useLoading((signal) => findRecordedRequests(view, part, signal), [view])
  const [settings, setSettings] = useState(draftSettings)
  const [system, setSystem] = useState('')
  const [expected, setExpected] = useState('')
  const [name, setName] = useState('asked again')
  const [progress, setProgress] = useState<Progress>()
  const [done, setDone] = useState<Awaited<ReturnType<typeof runAgain>>>()
  const [failure, setFailure] = useState<Error>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const given = settingsIn(settings)
  const isWrong = settings.trim() !== '' && settings.trim() !== '{}' && given.size === 0
  const asked = value?.asked ?? []
  const isRunning = progress !== undefined && done === undefined && failure === undefined
  const run = async () => {
    if (isWrong || asked.length === 0 || name.trim() === '' || isRunning) return
    const controller = new AbortController()
    running.current = controller
    setFailure(undefined)
    setProgress({ done: 0, failed: 0 })
    try {
      const wanted = { project, name: name.trim(), asked, settings: given, system, expected }
      setDone(await runAgain(wanted, setProgress, controller.signal))
    } catch (reason) {
      setFailure(reason as Error)
    }
  }
  return (
    <Dialog label="Ask again" onClose={onClose}>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={4} />}
      {value && progress === undefined && (
        <form class="form" onSubmit={ownSubmit(run)}>
          <p class="muted">
            {asked.length === 0
              ? `None of the ${countText(value.looked)} calls is a conversation with an answer.`
              : whichText(asked.length, value.looked, count)}
          </p>
          <label for="again-name">Name of the run</label>
          <input
            id="again-name"
            maxLength={128}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
          <label for="again-settings">Settings to change, as JSON</label>
          <textarea
            id="again-settings"
            rows={3}
            spellcheck={false}
            aria-invalid={isWrong}
            placeholder={'{"temperature": 0}'}
            value={settings}
            onInput={({ currentTarget }) => setSettings(currentTarget.value)}
          />
          {isWrong && <p class="problem">Not a valid JSON object yet.</p>}
          <label for="again-system">System message, instead of the recorded one</label>
          <textarea
            id="again-system"
            rows={2}
            placeholder="Leave empty to keep the recorded one"
            value={system}
            onInput={({ currentTarget }) => setSystem(currentTarget.value)}
          />
          <label for="again-expected">A good answer contains</label>
          <input
            id="again-expected"
            placeholder="Leave empty to skip this check"
            value={expected}
            onInput={({ currentTarget }) => setExpected(currentTarget.value)}
          />
          <FormFooter failure={undefined} onClose={onClose} canSubmit={!isWrong && asked.length > 0}>
            Ask {countText(asked.length)} again
          </FormFooter>
        </form>
      )}
      {progress && (
        <div class="add-to">
          <p role="status">
            {countText(progress.done)} of {countText(asked.length)} asked again
            {progress.failed > 0 && `, ${countText(progress.failed)} failed: ${progress.why}`}.
            {progress.isHeld && ' Waiting for an answer in another tab.'}
          </p>
          <progress max={asked.length} value={progress.done} aria-label="Asked again" />
          <Problem text={failure?.message} />
          <div class="dialog-buttons">
            {isRunning && (
              <button type="button" onClick={() => running.current?.abort()}>
                Stop
              </button>
            )}
            {failure && (
              <button
                type="button"
                onClick={() => {
                  setFailure(undefined)
                  setProgress(undefined)
                }}
              >
                Back
              </button>
            )}
            {done && done.done > 0 && (
              <a
                class="button main-button"
                href={paths.compare(project, { ids: `${done.recorded},${done.again}` })}
                onClick={onClose}
              >
                Compare with the recorded answers
              </a>
            )}
          </div>
        </div>
      )}
    </Dialog>
  )
}

function whichText(asked: number, looked: number, count: number | undefined): string {
  const left = looked - asked
  const newest =
    count !== undefined && count > looked ? `, the first ${countText(maxCalls)} of ${countText(count)}` : ''
  const without = left > 0 ? `; ${countText(left)} without a conversation and an answer are left out` : ''
  return `${countText(asked)} ${asked === 1 ? 'call' : 'calls'}${newest}${without}. Both runs are written as an evaluation.`
}
