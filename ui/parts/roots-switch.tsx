import { setSearch } from '../routes.ts'

/** Calls that others called count as well where it is off. */
export function RootsSwitch({ roots }: { roots: boolean }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={roots}
        onChange={({ currentTarget }) => setSearch({ all: currentTarget.checked ? undefined : '1' })}
      />
      Roots only
    </label>
  )
}
