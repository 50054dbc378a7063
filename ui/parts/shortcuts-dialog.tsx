import { Dialog } from './dialog.tsx'
import { activeShortcuts } from './shortcuts.ts'

/** The keyboard shortcuts of the current screen. */
export function ShortcutsDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog label="Keyboard shortcuts" onClose={onClose}>
      <div class="key-sheet">
        {shownGroups().map(({ name, bindings }) => (
          <section key={name}>
            <h3>{name}</h3>
            <dl>
              {bindings.map(({ keys, does }) => (
                <div key={does}>
                  <dt>
                    {keys.map((one) => (
                      <kbd key={one}>{keyLabel(one)}</kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

/** A component on the screen may have no keys at the moment. */
const shownGroups = () => activeShortcuts.value.filter(({ bindings }) => bindings.length > 0).toReversed()

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
const signs: Record<string, string> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  ' ': 'Space',
}

export const keyLabel = (key: string): string =>
  key
    .split('+')
    .map((one) => (one === 'Ctrl' && isMac ? '⌘' : (signs[one] ?? one)))
    .join(' ')
