import type { ComponentChildren } from 'preact'
import { paths } from '../routes.ts'
import { isForbidden, isMissing } from '../server/request.ts'
import { useAutoRetry } from './auto-retry.ts'
import { CopyButton } from './copy-button.tsx'

interface EmptyProps {
  title: string
  children?: ComponentChildren
  /** The first step, as a command to copy. */
  command?: string
}

/** Says that nothing is here yet, and how to get something here. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
      {command !== undefined && (
        <div class="command">
          <pre tabIndex={0}>{command}</pre>
          <CopyButton text={command} label="Copy command" />
        </div>
      )}
    </div>
  )
}

/** The text for something that does not exist, and a link to go on from it. */
export interface MissingNotice {
  title: string
  href: string
  /** Text of the link. */
  to: string
}

interface FailedProps {
  error: Error
  retry?: () => void
  missing?: MissingNotice
}

/** An error. What may pass is retried automatically, and by a button. */
export function Failed({ error, retry, missing }: FailedProps) {
  const isTried = useAutoRetry(error, retry)
  if (isForbidden(error)) return <Forbidden why={error.message} />
  const isGone = isMissing(error)
  // A reader of the page sent no field.
  const why = isGone ? error.message.replace(/^[\w.]+: there/, 'There') : error.message
  if (isGone && missing !== undefined) return <Missing {...{ missing, why }} />
  return (
    <div class="state is-failed" role="alert">
      <h2>{isGone ? 'Not found' : 'This could not be loaded'}</h2>
      <p>
        {why}
        {isTried && ' Retrying automatically.'}
      </p>
      {retry && !isGone && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** An error in place of a whole screen. */
export function FailedScreen({ name, ...failed }: FailedProps & { name: string }) {
  return (
    <main class="screen">
      <h1 class="hidden-text">{name}</h1>
      <Failed {...failed} />
    </main>
  )
}

function Missing({ missing, why }: { missing: MissingNotice; why: string }) {
  return (
    <div class="state" role="alert">
      <h2>{missing.title}</h2>
      <p>{why}</p>
      <a class="button" data-file={null} href={missing.href}>
        {missing.to}
      </a>
    </div>
  )
}

function Forbidden({ why }: { why: string }) {
  return (
    <div class="state" role="alert">
      <h2>You have no access to this</h2>
      <p>{why} Ask whoever runs the server for access.</p>
      <a class="button" href={paths.projects}>
        Your projects
      </a>
    </div>
  )
}

/** Why something that the user asked for was not done. */
export function Problem({ text }: { text: string | undefined }) {
  if (text === undefined) return null
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  )
}

/** A placeholder of the same shape as what is loading, so that nothing jumps. */
export function Skeleton({ rows = 8, autofocus = false }) {
  return (
    <div
      class="skeleton"
      role="status"
      aria-label="Loading"
      tabIndex={autofocus ? -1 : undefined}
      {...{ autofocus }}
    >
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} />
      ))}
    </div>
  )
}

/** A placeholder for a whole screen. */
export function LoadingScreen() {
  return (
    <main class="screen">
      <Skeleton rows={12} />
    </main>
  )
}
