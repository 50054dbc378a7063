import type { MessageChange } from './message-changes.ts'
import { lineOf } from './messages.ts'
import { WordDiff } from './word-diff-text.tsx'

/** The changes from one conversation to another, message by message; unchanged ones take one line. */
export function MessageChanges({ changes }: { changes: readonly MessageChange[] }) {
  return (
    <ol class="chat">
      {changes.map((change, index) => (
        <li key={index} class="said message-change" data-role={change.role} data-kind={change.kind}>
          <div class="said-by">
            {change.role} <span class="muted">{change.kind === 'same' ? 'as before' : change.kind}</span>
          </div>
          {change.kind === 'same' ? (
            <p class="muted clipped" title={change.text}>
              {lineOf(change.text)}
            </p>
          ) : change.kind === 'changed' ? (
            <WordDiff before={change.before} after={change.after} />
          ) : (
            <WordDiff
              before={change.kind === 'removed' ? change.text : ''}
              after={change.kind === 'added' ? change.text : ''}
            />
          )}
        </li>
      ))}
    </ol>
  )
}
