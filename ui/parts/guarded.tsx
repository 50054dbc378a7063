import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { Failed } from './states.tsx'

/** What cannot be drawn is said in its place, and the rest of the page goes on. */
export function Guarded({ children }: { children: ComponentChildren }) {
  const [error, again] = useErrorBoundary()
  if (error === undefined) return children
  return (
    <main class="screen">
      <Failed error={error as Error} again={again} />
    </main>
  )
}
