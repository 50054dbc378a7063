import { useState } from 'preact/hooks'
import { ownSubmit } from '../../parts/work.ts'
import { jsonNode } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { PlainText } from '../../value/plain-text.tsx'
import type { ToolCall } from './answer.ts'
import { isJson } from './settings.ts'

interface Props {
  calls: readonly ToolCall[]
  /** Present once the answer is complete. */
  onResults: ((results: string[]) => void) | undefined
}

/** Calls of tools, with a field for the result of each. */
export function CallResults({ calls, onResults }: Props) {
  const [results, setResults] = useState<string[]>([])
  return (
    <form
      class="call-results"
      onSubmit={ownSubmit(() => onResults?.(calls.map((_, index) => results[index] ?? '')))}
    >
      {calls.map(({ id, name, arguments: given }, index) => (
        <div key={index} class="tool">
          <div class="tool-name">
            <span class="tool-kind">calls</span> {name} <span class="muted">{id}</span>
          </div>
          {isJson(given) ? <JsonTree node={jsonNode(given)} /> : <PlainText text={given} />}
          {onResults && (
            <textarea
              aria-label={`Result of ${name}`}
              placeholder={`Result of ${name}`}
              rows={2}
              value={results[index] ?? ''}
              onInput={({ currentTarget }) => {
                const next = [...results]
                next[index] = currentTarget.value
                setResults(next)
              }}
            />
          )}
        </div>
      ))}
      {onResults && (
        <button type="submit" class="main-button">
          Send {calls.length === 1 ? 'result' : 'results'} and continue
        </button>
      )}
    </form>
  )
}
