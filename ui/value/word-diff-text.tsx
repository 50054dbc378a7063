import { useMemo } from 'preact/hooks'
import { wordDiff } from './word-diff.ts'

const signs = { same: '', new: 'added: ', gone: 'removed: ' } as const

/** The changes from one text to another; what is new and what is gone is never shown by colour alone. */
export function WordDiff({ before, after }: { before: string; after: string }) {
  const parts = useMemo(() => wordDiff(before, after), [before, after])
  return (
    <pre class="plain word-diff">
      {parts.map(({ kind, text }, index) => {
        const hint = <span class="hidden-text">{signs[kind]}</span>
        if (kind === 'same') return text
        return kind === 'new' ? (
          <ins key={index}>
            {hint}
            {text}
          </ins>
        ) : (
          <del key={index}>
            {hint}
            {text}
          </del>
        )
      })}
    </pre>
  )
}
