import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** A button that copies a text and says so. */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [state, setState] = useState<'no' | 'yes' | 'failed'>('no')
  useEffect(() => {
    if (state === 'no') return
    const timer = setTimeout(() => setState('no'), 1_500)
    return () => clearTimeout(timer)
  }, [state])
  const said = { no: children, yes: 'Copied', failed: 'Blocked by the browser' }[state]
  return (
    <button
      type="button"
      class="quiet copy"
      aria-label={said === undefined ? label : undefined}
      title={label}
      onClick={() =>
        navigator.clipboard.writeText(text).then(
          () => setState('yes'),
          () => setState('failed'),
        )
      }
    >
      <Icon name="copy" />
      <span aria-live="polite">{said}</span>
    </button>
  )
}
