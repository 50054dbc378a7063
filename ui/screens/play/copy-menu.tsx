import { useMemo, useState } from 'preact/hooks'
import { serverUrl } from '../../base.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { search } from '../../router.ts'
import { countText } from '../../value/units.ts'
import { copyAs, forms } from './copy-as.ts'
import type { Play } from './play.ts'
import { bodyOf, openFields } from './turns.ts'

/** Nobody reads more of it here, and a browser takes seconds to lay out a few megabytes. */
const longestShown = 20_000

/** The request as a program would send it. */
export function CopyDialog({ play, project, onClose }: { play: Play; project: string; onClose(): void }) {
  const [form, setForm] = useState<(typeof forms)[number]>('curl')
  const [name, setName] = useState(play.shown.value[0]?.name)
  const side = play.shown.value.find((one) => one.name === name) ?? play.a
  const turns = play.turns.value
  const { value: settings } = side.settings
  const text = useMemo(() => {
    const body = bodyOf(turns, settings, openFields(turns))
    const thread = search.value.get('thread') ?? ''
    return copyAs(form, { origin: serverUrl(), project, thread, body })
  }, [form, turns, settings, project])
  const isCut = text.length > longestShown
  return (
    <Dialog label="Copy as" onClose={onClose}>
      <div class="copy-as">
        <div class="copy-as-head">
          <fieldset class="segments">
            <legend class="hidden-text">Form</legend>
            {forms.map((one) => (
              <button key={one} type="button" aria-pressed={one === form} onClick={() => setForm(one)}>
                {one}
              </button>
            ))}
          </fieldset>
          {play.shown.value.length > 1 && (
            <fieldset class="segments">
              <legend class="hidden-text">Settings</legend>
              {play.shown.value.map((one) => (
                <button
                  key={one.name}
                  type="button"
                  aria-pressed={one === side}
                  onClick={() => setName(one.name)}
                >
                  {one.name.toUpperCase()}
                </button>
              ))}
            </fieldset>
          )}
          <CopyButton text={text} label="Copy text">
            Copy
          </CopyButton>
        </div>
        <pre class="plain" tabIndex={0}>
          {isCut ? text.slice(0, longestShown) : text}
        </pre>
        {isCut && (
          <p class="muted">
            The first {countText(longestShown)} of {countText(text.length)} characters. All of them are
            copied.
          </p>
        )}
        <p class="muted">It contains no key: put yours into HEDDLE_KEY.</p>
      </div>
    </Dialog>
  )
}
