import type { ComponentChildren } from 'preact'
import { feedbackWordOf } from '../../packages/filter/index.ts'
import { paths } from '../routes.ts'
import type { FeedbackEntry } from '../server/feedback.ts'
import { nodeAt, stringOf } from '../value/json-index.ts'
import { JsonTree } from '../value/json-tree.tsx'
import { parseRef } from '../value/ref.ts'
import { ScoreValue } from '../value/score-value.tsx'

/** What a person or a scorer said. */
export function FeedbackContent({ entry: { type, payload } }: { entry: FeedbackEntry }) {
  const [emoji, note] = [stringOf(nodeAt(payload, 'emoji')), stringOf(nodeAt(payload, 'note'))]
  if (emoji !== undefined) return <span class="emoji">{emoji}</span>
  if (note !== undefined) {
    return (
      <span class="note" dir="auto">
        {note}
      </span>
    )
  }
  const named = /^(scores|annotation)\.(.+)$/s.exec(feedbackWordOf(type))
  const value = nodeAt(payload, named?.[1] === 'scores' ? 'output' : 'value')
  return (
    <div class="feedback-value">
      <strong title={type}>{named?.[2] ?? type}</strong>
      {named && value ? <ScoreValue node={value} /> : <JsonTree node={payload} />}
    </div>
  )
}

/** A score is by its scorer, not by the user whose key sent it, and links to the call that made it. */
export function FeedbackAuthor({ entry: { by, creator, runnable, call } }: { entry: FeedbackEntry }) {
  if (runnable === undefined) return <span>{creator ?? by}</span>
  const scorer = parseRef(runnable)
  const from = call === undefined ? undefined : parseRef(call)
  return (
    <>
      scored by{' '}
      {scorer === undefined ? (
        <code>{runnable}</code>
      ) : (
        <Linked to={paths.object(scorer.project, scorer.name, scorer.version || undefined)}>
          {scorer.name}
        </Linked>
      )}
      {from?.kind === 'call' && (
        <>
          , <Linked to={paths.call(from.project, from.name)}>its call</Linked>
        </>
      )}
    </>
  )
}

/** An exported file has no other screens. */
const Linked = ({ to, children }: { to: string; children: ComponentChildren }) => (
  <a href={to} data-file={() => children}>
    {children}
  </a>
)
