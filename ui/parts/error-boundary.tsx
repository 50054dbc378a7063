import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { Failed } from './states.tsx'

/** Shows an error in place of what cannot be drawn; the rest of the page keeps working. */
export function ErrorBoundary({ children }: { children: ComponentChildren }) {
  const [error, retry] = useErrorBoundary()
  if (error === undefined) return children
  return (
    <main class="screen">
      <Failed error={error as Error} retry={retry} />
    </main>
  )
}
