import { useState } from 'preact/hooks'
import { KeyTable } from '../../keys/key-table.tsx'
import { ShortcutsDialog } from '../../parts/shortcuts-dialog.tsx'
import { theme, themes } from '../../parts/theme.ts'
import { paths } from '../../routes.ts'
import { grantsText } from '../../server/people.ts'
import { currentUser } from '../../server/session.ts'

/** The signed-in user: its access, its keys, and the theme of the page. */
export function MeScreen() {
  const [isSheet, setSheet] = useState(false)
  const me = currentUser.value
  if (me === undefined) return null
  const { user, grants, version } = me
  return (
    <main class="screen narrow">
      <h1 dir="auto">{user}</h1>
      <p>
        {grantsText(grants)}; version {version} of the server
      </p>
      <p>
        <a href={paths.budgets}>Budgets that count your answers</a>
      </p>
      <section class="panel" aria-labelledby="own-keys">
        <h2 id="own-keys">Keys</h2>
        <KeyTable user={user} isOwn />
      </section>
      <section class="panel" aria-labelledby="look">
        <h2 id="look">Theme</h2>
        <fieldset class="segments">
          <legend class="hidden-text">Theme</legend>
          {themes.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={theme.value === one}
              onClick={() => {
                theme.value = one
              }}
            >
              {one}
            </button>
          ))}
        </fieldset>
      </section>
      <section class="panel" aria-labelledby="board">
        <h2 id="board">Keyboard</h2>
        <p>
          Everything can be done from the keyboard. Press <kbd>?</kbd> to see the shortcuts of a screen.
        </p>
        <div>
          <button type="button" onClick={() => setSheet(true)}>
            Show keyboard shortcuts
          </button>
        </div>
      </section>
      {isSheet && <ShortcutsDialog onClose={() => setSheet(false)} />}
    </main>
  )
}
