import { useEffect, useState } from 'preact/hooks'
import { feedbackWordOf } from '../../../packages/filter/index.ts'
import {
  conditionOf,
  type FacetValue,
  isChosen,
  toggleValue,
  withoutField,
} from '../../filter/facet-filter.ts'
import { ofApplication, showsAllOrigins } from '../../filter/origin.ts'
import { Icon } from '../../parts/icon.tsx'
import { statusWords } from '../../parts/status.tsx'
import { search, setSearch } from '../../router.ts'
import type { CallStatus } from '../../server/calls.ts'
import { shortOp } from '../../server/calls.ts'
import { followEvents } from '../../server/events.ts'
import { useLoading } from '../../server/loading.ts'
import { type CallsScope, type Facet, readColumns, readFacets } from '../../server/views.ts'
import { refName } from '../../value/ref.ts'
import { countText } from '../../value/units.ts'
import { parseQuery } from './parse-query.ts'

const titles: Record<string, string> = {
  status: 'Status',
  op: 'Op',
  model: 'Model',
  user: 'User',
  reaction: 'Reaction',
  feedback: 'Feedback',
}
const own = Object.keys(titles)

const isCounted = (kind: string) => kind === 'call' || kind === 'feedback'

/** Pause between counts while calls arrive. */
const restMs = 5_000
/** Values that a facet shows at first. */
const fewValues = 8

interface Props {
  meant: CallsScope
  /** The filter as the address has it. */
  text: string
  /** Values inside calls that are counted as well. */
  pinned: readonly string[]
}

/** What the calls of the list have in common, with counts; a click filters by a value. */
export function Facets({ meant, text, pinned }: Props) {
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const unfollow = followEvents((heard) => {
      if (heard !== 'resync' && !(heard.project === meant.project && isCounted(heard.kind))) return
      timer ??= setTimeout(() => {
        timer = undefined
        setTurn((last) => last + 1)
      }, restMs)
    })
    return () => {
      unfollow()
      clearTimeout(timer)
    }
  }, [meant.project])
  const fields = [...own, ...pinned]
  const { value: facets, error } = useLoading(
    (signal) => countedBy(meant, text, fields, signal),
    [meant, text, pinned.join(' '), turn],
  )
  return (
    <aside class="facets" aria-label="Facets">
      {error && <p class="problem">{error.message}</p>}
      {fields.map((field) => (
        <FacetGroup
          key={field}
          {...{ field, text }}
          facet={facets?.find((one) => one.field === field)}
          onUnpin={pinned.includes(field) ? () => pin(pinned.filter((one) => one !== field)) : undefined}
        />
      ))}
      <AddFacet meant={meant} pinned={pinned} />
    </aside>
  )
}

const pin = (fields: readonly string[]) => setSearch({ facet: fields.map(encodeURIComponent).join(',') })

/** Each facet is counted without the filter's own conditions on it, and without calls that the list leaves out. */
async function countedBy(
  meant: CallsScope,
  text: string,
  fields: readonly string[],
  signal: AbortSignal,
): Promise<Facet[]> {
  const byText = Map.groupBy(fields, (field) => withoutField(text, field))
  const isAll = showsAllOrigins(search.value.get('judged'), text)
  const parts = await Promise.all(
    [...byText].map(([rest, some]) => {
      const read = parseQuery(rest)
      const query = 'query' in read ? (isAll ? read.query : ofApplication(read.query)) : meant.query
      return readFacets({ ...meant, query }, some, signal)
    }),
  )
  return parts.flat()
}

interface GroupProps {
  field: string
  text: string
  facet: Facet | undefined
  onUnpin: (() => void) | undefined
}

function FacetGroup({ field, text, facet, onUnpin }: GroupProps) {
  const [isLong, setLong] = useState(false)
  const isJson = titles[field] === undefined
  const values = facet?.values ?? []
  const chosen = (value: string | null) => isChosen(text, { field, value, isJson })
  // Most projects have no feedback; a user who filters by it still has to see why nothing is left.
  const isSaid = field === 'reaction' || field === 'feedback'
  if (isSaid && values.every(({ value }) => value === null && !chosen(value)) && !facet?.others) return null
  const shown = isLong ? values : values.filter(({ value }, index) => index < fewValues || chosen(value))
  const highest = Math.max(1, ...values.map(({ count }) => count))
  return (
    <section class="facet" aria-label={titles[field] ?? field}>
      <header>
        <h2 title={field}>{titles[field] ?? field}</h2>
        {facet?.sampled != null && <span class="muted">newest {countText(facet.sampled)}</span>}
        {onUnpin && (
          <button type="button" class="icon-button" aria-label={`Remove ${field}`} onClick={onUnpin}>
            <Icon name="close" />
          </button>
        )}
      </header>
      <ul aria-busy={facet === undefined}>
        {facet === undefined && <li class="facet-coming" />}
        {facet !== undefined && values.length === 0 && <li class="muted">none</li>}
        {shown.map(({ value, count }) => {
          const one: FacetValue = { field, value, isJson }
          return (
            <li key={String(value)}>
              <button
                type="button"
                class="facet-value"
                aria-pressed={chosen(value)}
                disabled={conditionOf(one) === undefined}
                onClick={() => setSearch({ q: toggleValue(text, one) }, {})}
              >
                <span
                  class="facet-bar"
                  aria-hidden="true"
                  ref={(element) => element?.style.setProperty('--share', String(count / highest))}
                />
                <span
                  dir="auto"
                  class={value === null ? 'facet-name muted' : 'facet-name'}
                  title={value ?? undefined}
                >
                  {nameOf(one)}
                </span>
                <span class="facet-count">{countText(count)}</span>
              </button>
            </li>
          )
        })}
        {shown.length < values.length && (
          <li>
            <button type="button" class="quiet" onClick={() => setLong(true)}>
              {values.length - shown.length} more
            </button>
          </li>
        )}
        {facet !== undefined && facet.others > 0 && (
          <li class="muted facet-others">
            <span>other values</span>
            <span class="facet-count">{countText(facet.others)}</span>
          </li>
        )}
      </ul>
    </section>
  )
}

function nameOf({ field, value, isJson }: FacetValue): string {
  if (value === null) return 'none'
  if (field === 'op') return shortOp(value)
  if (field === 'status') return statusWords[value as CallStatus] ?? value
  if (field === 'model') return refName(value)
  if (field === 'feedback') return feedbackWordOf(value).replace(/^scores\./, 'scored by ')
  if (!isJson || !value.startsWith('"')) return value
  return (JSON.parse(value) as string) || '(empty)'
}

/** Values inside calls that could become facets. */
function AddFacet({ meant, pinned }: Pick<Props, 'meant' | 'pinned'>) {
  const [isAsked, setAsked] = useState(false)
  const { value } = useLoading(
    async (signal) => (isAsked ? readColumns(meant, signal) : undefined),
    [isAsked, meant],
  )
  const fields = value?.columns.filter(({ field, types }) => {
    const isScalar = 'string' in types || 'number' in types || 'boolean' in types
    return isScalar && field.includes('.') && !pinned.includes(field)
  })
  if (pinned.length >= 8) return null
  return (
    <div class="add-facet">
      {isAsked ? (
        <select
          aria-label="Add a facet"
          onChange={({ currentTarget }) => {
            if (currentTarget.value !== '') pin([...pinned, currentTarget.value])
            setAsked(false)
          }}
        >
          <option value="">
            {value === undefined ? 'Loading…' : `In the newest ${countText(value.sampled)} calls…`}
          </option>
          {fields?.map(({ field, count }) => (
            <option key={field} value={field}>
              {field} ({countText(count)})
            </option>
          ))}
        </select>
      ) : (
        <button type="button" class="quiet" onClick={() => setAsked(true)}>
          Add a facet
        </button>
      )}
    </div>
  )
}

/** As the address has them. */
export function pinnedIn(text: string | null): string[] {
  return (text ?? '').split(',').flatMap((one) => {
    try {
      return one === '' ? [] : decodeURIComponent(one)
    } catch {
      return []
    }
  })
}
