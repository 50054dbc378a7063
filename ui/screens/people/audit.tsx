import { ListTable } from '../../parts/list-table.tsx'
import { PeopleHead } from '../../parts/lists-head.tsx'
import { MoreActs } from '../../parts/more-acts.tsx'
import { OlderPages } from '../../parts/older-pages.tsx'
import { Time } from '../../parts/time.tsx'
import { search, setSearch } from '../../router.ts'
import { type AuditEntry, readAudit } from '../../server/budgets.ts'
import { useLoading } from '../../server/loading.ts'
import { type Grant, grantsText } from '../../server/people.ts'
import { countText, timeText } from '../../value/units.ts'

const filters = [
  ['actor', 'Who', { placeholder: 'anybody' }],
  ['action', 'What', { placeholder: 'user. or key.add' }],
  ['from', 'From', { type: 'date' }],
  ['until', 'Until', { type: 'date' }],
] as const
const names = filters.map(([name]) => name)

/** Who did what on the server, the latest first. The filter is in the address. */
export function AuditScreen() {
  const asked = search.value
  const before = asked.get('before') ?? undefined
  const texts = names.map((name) => asked.get(name) ?? '')
  const loaded = useLoading(
    (signal) => {
      const [actor, action, from, until] = texts.map((text) => text || undefined)
      return readAudit(
        {
          ...{ actor, action, before },
          from: from && new Date(`${from}T00:00`).toISOString(),
          until: until && new Date(`${until}T23:59:59.999`).toISOString(),
        },
        signal,
      )
    },
    [...texts, before],
  )
  const fields = filters.map(([name, label, kind], index) => (
    <span key={name} class="in-line">
      <label for={`audit-${name}`}>{label}</label>
      <input id={`audit-${name}`} {...{ name, ...kind }} defaultValue={texts[index]} />
    </span>
  ))
  return (
    <main class="screen sheet quality">
      <PeopleHead title="Audit" />
      <form
        class="row-form audit-filter"
        onSubmit={(event) => {
          event.preventDefault()
          const entered = new FormData(event.currentTarget)
          const changes = Object.fromEntries(names.map((name) => [name, String(entered.get(name)).trim()]))
          setSearch({ ...changes, before: undefined }, { replaces: false })
        }}
      >
        {fields.slice(0, 2)}
        <MoreActs isSet={texts.slice(2).join('') !== ''}>{fields.slice(2)}</MoreActs>
        <button type="submit">Filter</button>
      </form>
      <ListTable
        label="Audit"
        loaded={{ ...loaded, value: loaded.value?.entries }}
        keyOf={({ id }) => id}
        columns={columns}
        empty="Nothing was done that this filter finds"
      />
      <OlderPages {...{ before }} next={loaded.value?.next} />
    </main>
  )
}

/** `queue_rules.delete` is "delete queue rules"; the filter takes the code, which is in the title. */
const wordsOf = (action: string) => action.replace(/(.+)\.(\w+)$/, '$2 $1').replace(/[._]/g, ' ')

const columns = {
  When: ({ at }: AuditEntry) => <Time at={at} />,
  Who: ({ actor, via }: AuditEntry) => (
    <>
      {actor ?? 'the server'} {via !== null && via !== 'http' && <span class="muted">by {via}</span>}
    </>
  ),
  What: ({ action, count }: AuditEntry) => (
    <span title={action}>
      {wordsOf(action)}
      {count !== null && `, ${countText(count)}`}
    </span>
  ),
  Where: ({ project_id }: AuditEntry) => project_id,
  Details: (entry: AuditEntry) => (
    <dl class="score-members audit-details">
      {linesOf(entry.details).map(([name, value]) => (
        <div key={name}>
          <dt class="muted">{name}</dt>
          <dd>{textOf(name, value, entry.action)}</dd>
        </div>
      ))}
    </dl>
  ),
}

/** Numbers beyond it are times, in microseconds. */
const earliestTime = 1e15

/** Each value with its path in words, so that objects become lines of their own. */
const linesOf = (value: object, path = ''): [string, unknown][] =>
  Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    // Within a change, null is the change: a limit was removed.
    if (member === '' || (member === null && path === '')) return []
    if (name === 'grants') return [[`${path}roles`, grantsText(member as Grant[])]]
    if (name === 'before' && Array.isArray(member)) return [['roles before', grantsText(member as Grant[])]]
    const words = path + (name === 'block_unpriced' ? 'without a price' : name.replaceAll('_', ' '))
    return isNested(member) ? linesOf(member, `${words} `) : [[words, member]]
  })

const isNested = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (!Array.isArray(value) || value.some((entry) => typeof entry === 'object'))

function textOf(name: string, value: unknown, action: string): string {
  if (/( at|^until)$/.test(name) && Number(value) > earliestTime)
    return timeText(new Date(Number(value) / 1_000), new Date())
  if (/without a price$/.test(name)) return value ? 'refused' : 'free'
  if (/warn at$/.test(name)) return `${Number(value) * 100} %`
  // Amounts of money are stored in billionths.
  if (name === 'amount' && action.startsWith('budget.')) return String(Number(value) / 1e9)
  return Array.isArray(value) ? value.join(', ') : String(value ?? 'none')
}
