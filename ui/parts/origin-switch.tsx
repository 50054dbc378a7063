import { setSearch } from '../router.ts'
import { useLoading } from '../server/loading.ts'
import { type CallsScope, readFacets } from '../server/views.ts'
import { countText } from '../value/units.ts'

interface Props {
  /** The calls of the filter, whatever they were made for; undefined where they are not counted. */
  meant?: CallsScope
  isOn: boolean
}

/** Shows the calls of judges and evaluations, counted apart. Where there are none its space stays empty: nothing jumps. */
export function OriginSwitch({ meant, isOn }: Props) {
  const { value } = useLoading(
    async (signal) => (meant === undefined ? undefined : readFacets(meant, ['origin'], signal)),
    [meant],
  )
  const count = (value?.[0]?.values ?? []).reduce(
    (sum, { value: origin, count: calls }) => (origin === 'app' ? sum : sum + calls),
    0,
  )
  const isNeeded = meant === undefined || count > 0 || isOn
  return (
    <label class={isNeeded ? 'check' : 'check is-unseen'} title="Calls that they made">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => setSearch({ judged: currentTarget.checked ? '1' : undefined })}
      />
      Show {count > 0 && `${countText(count)} of `}judges and evaluations
    </label>
  )
}
