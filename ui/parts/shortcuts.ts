import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { live } from '../export/contents.ts'

/** What a key does on the current screen. The sheet of shortcuts is made from the same bindings, so the two cannot differ. */
export interface Shortcut {
  /** As they are pressed: `j`, `ArrowDown`, `Ctrl+k` (or the command key), or `g g` for two in a row. */
  keys: readonly string[]
  does: string
  /** Works also while a field has the focus. */
  whileTyping?: boolean
  /** Receives the key that was pressed. */
  run(key: string): void
}

/** The keys that walk through a list. */
export const listKeys = (
  noun: string,
  move: (by: number) => void,
  last = `Last ${noun}`,
): readonly Shortcut[] => [
  { keys: ['j', 'ArrowDown'], does: `Next ${noun}`, run: () => move(1) },
  { keys: ['k', 'ArrowUp'], does: `Previous ${noun}`, run: () => move(-1) },
  { keys: ['g g', 'Home'], does: `First ${noun}`, run: () => move(-Infinity) },
  { keys: ['G', 'End'], does: last, run: () => move(Infinity) },
]

type Shortcuts = readonly Shortcut[]

interface Group {
  name: string
  bindings: Shortcuts
}

/** The last group takes precedence. */
const groups = signal<readonly Group[]>([])

export const activeShortcuts = groups

/** Binds these keys while the component is mounted; those `withServer` do nothing in an exported file. */
export function useShortcuts(name: string, bindings: Shortcuts, withServer: Shortcuts = []): void {
  const current = useRef(bindings)
  current.current = [...bindings, ...(live(withServer) ?? [])]
  // A layout effect, because keys may be pressed as soon as the screen is seen.
  useLayoutEffect(() => {
    // Each binding runs the function of the latest render, not of the first.
    const group: Group = {
      name,
      get bindings() {
        return current.current
      },
    }
    groups.value = [...groups.value, group]
    return () => {
      groups.value = groups.value.filter((one) => one !== group)
    }
  }, [name])
}

/** How long the second key of a sequence is waited for. */
const sequenceMs = 800

const pressing = ['Enter', ' ']
const walking = ['j', 'k', 'ArrowDown', 'ArrowUp']

let before: { key: string; at: number } | undefined

export function listenForShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return
    const key = nameOf(event)
    const isTyping = isField(event.target)
    const now = performance.now()
    const two = before !== undefined && now - before.at < sequenceMs ? `${before.key} ${key}` : undefined
    before = isTyping ? undefined : { key, at: now }
    const inDialog = document.querySelector('dialog[open]') !== null
    const control = controlOf(event.target)
    // These keys activate the focused control, as everywhere.
    if (control !== undefined && pressing.includes(key)) return
    for (const { bindings } of groups.value.toReversed()) {
      for (const { keys, whileTyping = false, run } of bindings) {
        const fits = keys.includes(key) || (two !== undefined && keys.includes(two))
        if (!fits || ((isTyping || inDialog) && !whileTyping)) continue
        event.preventDefault()
        before = undefined
        // Moving through rows takes the focus off the button used before, so that Enter opens the row.
        if (walking.includes(key) || keys.includes('g g')) control?.blur()
        run(key)
        return
      }
    }
  })
}

function nameOf(event: KeyboardEvent): string {
  const isLetter = event.key.length === 1
  const parts = [
    ...(event.ctrlKey || event.metaKey ? ['Ctrl'] : []),
    ...(event.altKey ? ['Alt'] : []),
    // A letter with Shift is a letter of its own.
    ...(event.shiftKey && !isLetter ? ['Shift'] : []),
    event.key,
  ]
  return parts.join('+')
}

/** A checkbox takes no text. */
const fields = 'input:not([type="checkbox"]), textarea, select, [contenteditable]'
const controls = 'button, a[href], summary, input[type="checkbox"]'

/** Until the next frame the field of a dialog that has closed may still have the focus, though nobody types there. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest(fields) !== null &&
  target.closest('dialog:not([open])') === null

const controlOf = (target: EventTarget | null): HTMLElement | undefined =>
  (target instanceof Element ? target.closest<HTMLElement>(controls) : undefined) ?? undefined
