import { useState } from 'preact/hooks'
import { Problem } from '../../parts/states.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import type { NewRule } from '../../server/queues.ts'

const kinds = {
  every_nth: 'Every nth call',
  errors: 'Calls that failed',
  scores: 'Calls with a low or a high score',
  all: 'Every call',
} as const

const first = {
  kind: 'every_nth' as keyof typeof kinds,
  n: '10',
  scorer: '',
  path: '',
  side: 'below',
  bound: '0.5',
  ops: '',
}

/** A form for a rule, by what it picks. */
export function NewRuleForm({ onMake }: { onMake(rule: NewRule): Promise<void> }) {
  const [draft, setDraft] = useState(first)
  const { failure, work } = useWork()
  const change = (changes: Partial<typeof draft>) => setDraft({ ...draft, ...changes })
  const rule = ruleOf(draft)
  const make = async () => {
    if (rule === undefined) return
    await onMake(rule)
    setDraft(first)
  }
  return (
    <form class="new-rule" aria-label="New rule" onSubmit={ownSubmit(() => work(make))}>
      <label>
        Add{' '}
        <select
          value={draft.kind}
          onChange={({ currentTarget }) => change({ kind: currentTarget.value as typeof draft.kind })}
        >
          {Object.entries(kinds).map(([kind, name]) => (
            <option key={kind} value={kind}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {draft.kind === 'every_nth' && (
        <label>
          n{' '}
          <input
            inputMode="numeric"
            size={4}
            value={draft.n}
            onInput={({ currentTarget }) => change({ n: currentTarget.value })}
          />
        </label>
      )}
      {draft.kind === 'scores' && (
        <>
          <label>
            Scorer{' '}
            <input
              placeholder="any"
              size={10}
              value={draft.scorer}
              onInput={({ currentTarget }) => change({ scorer: currentTarget.value })}
            />
          </label>
          <label>
            Path{' '}
            <input
              placeholder="correct.score"
              size={12}
              value={draft.path}
              onInput={({ currentTarget }) => change({ path: currentTarget.value })}
            />
          </label>
          <label>
            is{' '}
            <select
              value={draft.side}
              onChange={({ currentTarget }) => change({ side: currentTarget.value })}
            >
              <option value="below">below</option>
              <option value="above">above</option>
            </select>
          </label>
          <label>
            <span class="hidden-text">Number</span>
            <input
              inputMode="decimal"
              size={5}
              value={draft.bound}
              onInput={({ currentTarget }) => change({ bound: currentTarget.value })}
            />
          </label>
        </>
      )}
      <label>
        of op{' '}
        <input
          placeholder="any"
          size={14}
          value={draft.ops}
          onInput={({ currentTarget }) => change({ ops: currentTarget.value })}
        />
      </label>
      <button type="submit" disabled={rule === undefined}>
        Create rule
      </button>
      <Problem text={failure?.message} />
    </form>
  )
}

/** Undefined while something is missing. */
function ruleOf({ kind, n, scorer, path, side, bound, ops }: typeof first): NewRule | undefined {
  const names = ops
    .split(',')
    .map((op) => op.trim())
    .filter((op) => op !== '')
  const filter = names.length === 0 ? null : { op_names: names }
  switch (kind) {
    case 'all':
    case 'errors':
      return { pick: { kind }, filter }
    case 'every_nth':
      return /^[1-9]\d{0,8}$/.test(n.trim()) ? { pick: { kind, n: Number(n) }, filter } : undefined
    case 'scores': {
      if (bound.trim() === '' || !Number.isFinite(Number(bound))) return undefined
      const pick = {
        kind,
        ...(scorer.trim() !== '' && { scorer: scorer.trim() }),
        ...(path.trim() !== '' && { path: path.trim() }),
      }
      return side === 'below'
        ? { pick: { ...pick, below: Number(bound) }, filter }
        : { pick: { ...pick, above: Number(bound) }, filter }
    }
  }
}
