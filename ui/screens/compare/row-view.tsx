import { useMemo, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { ShowAll } from '../../parts/show-all.tsx'
import { setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import type { ResultRow, TrialResult } from '../../server/evaluations.ts'
import { Chat } from '../../value/chat.tsx'
import type { Direction } from '../../value/direction.ts'
import { type JsonNode, membersOf, nodeAt } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { inputMessages } from '../../value/messages.ts'
import { WholeText } from '../../value/plain-text.tsx'
import { ScoreLeaf } from '../../value/score-value.tsx'
import { fieldOf } from '../../value/scores.ts'
import { countText, durationText } from '../../value/units.ts'
import { wordDiff } from '../../value/word-diff.ts'
import { Difference } from './card.tsx'
import { explanationIn, numberIn, textOfValue } from './values.ts'

/** Longer texts are cut off at first. */
const longText = 8_000
/** Longer texts are not compared word by word. */
const longestCompared = 60_000

interface Props {
  project: string
  row: ResultRow
  ids: readonly string[]
  side: string | undefined
  letters: ReadonlyMap<string, string>
  names: ReadonlyMap<string, string>
  /** The trace of each run. */
  traces: ReadonlyMap<string, string>
  trial: number
  direction(field: string): Direction
  place: number
  count: number
  onClose(): void
  onMove(by: number): void
}

/** One row: the input, and the output of each run. */
export function RowView({ project, row, ids, side, letters, names, traces, ...rest }: Props) {
  const { trial, direction, place, count, onClose, onMove } = rest
  const most = Math.max(1, ...ids.map((id) => row.trials.get(id)?.length ?? 0))
  const at = Math.min(trial, most - 1)
  const [isDiff, setDiff] = useState(true)
  const base = row.trials.get(ids[0] as string)?.[at]
  return (
    <aside class="row-view" aria-label="Row details">
      <header>
        <h2>
          Row {countText(place + 1)} <span class="muted">of {countText(count)}</span>
        </h2>
        <button type="button" class="icon-button" aria-label="Previous row" onClick={() => onMove(-1)}>
          <Icon name="back" />
        </button>
        <button type="button" class="icon-button" aria-label="Next row" onClick={() => onMove(1)}>
          <Icon name="chevron" />
        </button>
        {ids.length > 1 && (
          <label class="check">
            <input type="checkbox" checked={isDiff} onChange={() => setDiff(!isDiff)} />
            Differences
          </label>
        )}
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="row-inputs">
        <h3>Input</h3>
        <Inputs inputs={row.inputs} />
      </div>
      {most > 1 && (
        <div class="tabs" role="tablist" aria-label="Trials">
          {Array.from({ length: most }, (_, index) => (
            <button
              key={index}
              type="button"
              role="tab"
              aria-selected={index === at}
              onClick={() => setSearch({ trial: String(index + 1) })}
            >
              Trial {index + 1}
            </button>
          ))}
        </div>
      )}
      <div class="row-runs" ref={(element) => element?.style.setProperty('--runs', String(ids.length))}>
        {ids.map((id, index) => (
          <section
            key={id}
            class={id === side ? 'is-side' : ''}
            aria-label={`${letters.get(id)} ${names.get(id)}`}
          >
            <h3>
              <span class="letter">{letters.get(id)}</span> <bdi>{names.get(id)}</bdi>
              {index === 0 && ids.length > 1 && <span class="muted"> baseline</span>}
            </h3>
            <RunOfRow
              project={project}
              trial={row.trials.get(id)?.[at]}
              base={index === 0 ? undefined : base}
              trace={traces.get(id)}
              direction={direction}
              isDiff={isDiff && index > 0}
            />
          </section>
        ))}
      </div>
    </aside>
  )
}

/** Inputs that are a conversation are shown as one, and also as they were recorded. */
function Inputs({ inputs }: { inputs: JsonNode }) {
  const asked = useMemo(() => inputMessages(inputs), [inputs])
  if (asked === undefined) return <JsonTree node={inputs} />
  return (
    <>
      <Chat asked={asked} answered={[]} />
      <details class="recorded">
        <summary>As recorded</summary>
        <JsonTree node={inputs} />
      </details>
    </>
  )
}

interface RunProps {
  project: string
  trial: TrialResult | undefined
  base: TrialResult | undefined
  trace: string | undefined
  direction(field: string): Direction
  isDiff: boolean
}

function RunOfRow({ project, trial, base, trace, direction, isDiff }: RunProps) {
  if (trial === undefined) return <p class="muted">This run has no such trial for this row.</p>
  const link = (call: string) =>
    trace === undefined ? paths.call(project, call) : paths.trace(project, trace, call)
  return (
    <>
      <ScoresOfTrial {...{ trial, base, direction, link }} />
      <div class="row-output">
        <Output trial={trial} base={isDiff ? base : undefined} />
      </div>
      <p class="muted row-facts">
        {trial.latency !== undefined && <span>{durationText(trial.latency * 1000)}</span>}
        {trial.tokens !== undefined && <span>{countText(trial.tokens)} tokens</span>}
        <a href={link(trial.id)}>Trace</a>
        {trial.predictCall !== undefined && <a href={link(trial.predictCall)}>Prediction</a>}
      </p>
    </>
  )
}

interface ScoresProps {
  trial: TrialResult
  base: TrialResult | undefined
  direction(field: string): Direction
  link(call: string): string
}

/** What each scorer returned, with its reasons. */
function ScoresOfTrial({ trial, base, direction, link }: ScoresProps) {
  const scores = [...membersOf(trial.scores)]
  if (scores.length === 0) return <p class="muted">No scores.</p>
  return (
    <dl class="row-scores">
      {scores.map(({ name, node }) => {
        const call = trial.scorerCalls.get(name)
        const parts = node.kind === 'object' ? [...membersOf(node)] : [{ name: '', node }]
        return (
          <div key={name}>
            <dt>{call ? <a href={link(call)}>{name}</a> : name}</dt>
            <dd>
              {parts.map(({ name: part, node: value }, index) => {
                const own = numberIn(value)
                const other = numberIn(nodeAt(base?.scores, name, ...(part === '' ? [] : [part])))
                return (
                  // Names may occur twice; the position tells members apart.
                  <div key={index} class={value.kind === 'string' ? 'reason' : ''}>
                    {part !== '' && <span class="muted">{part}</span>} <ScoreLeaf node={value} />
                    {own !== undefined && other !== undefined && own !== other && (
                      <Difference step={own - other} direction={direction(fieldIn(name, part))} />
                    )}
                  </div>
                )
              })}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

/** The field of a member of a scorer's value. */
const fieldIn = (scorer_key: string, part: string) =>
  fieldOf({ scorer_key, path: part === '' ? null : part.replaceAll('.', '\\.') })

function Output({ trial, base }: { trial: TrialResult; base: TrialResult | undefined }) {
  const [isWhole, setWhole] = useState(false)
  const { output } = trial
  if (output.kind === 'null') return <p class="muted">No output.</p>
  const isText = explanationIn(output) !== undefined
  const isCompared = base !== undefined && base.output.kind !== 'null'
  if (!isText && !isCompared) return <JsonTree node={output} />
  const text = textOfValue(output)
  const before = isCompared ? textOfValue(base.output) : undefined
  const isCut = !isWhole && text.length > longText
  const shown = isCut ? text.slice(0, longText) : text
  return (
    <>
      {before !== undefined && before.length <= longestCompared && shown.length <= longestCompared ? (
        <DiffText before={isCut ? before.slice(0, longText) : before} after={shown} />
      ) : (
        <p class="plain-text">
          <WholeText text={shown} />
        </p>
      )}
      {isCut && <ShowAll text={text} onShow={() => setWhole(true)} />}
    </>
  )
}

/** What is gone is struck through, what is new is underlined. */
function DiffText({ before, after }: { before: string; after: string }) {
  const parts = useMemo(() => wordDiff(before, after), [before, after])
  if (parts.every(({ kind }) => kind === 'same')) {
    return (
      <>
        <p class="muted">Same as the baseline:</p>
        <p class="plain-text">{after}</p>
      </>
    )
  }
  return (
    <p class="plain-text">
      {parts.map(({ kind, text }, index) => {
        const Tag = kind === 'gone' ? 'del' : kind === 'new' ? 'ins' : 'span'
        return <Tag key={index}>{text}</Tag>
      })}
    </p>
  )
}
