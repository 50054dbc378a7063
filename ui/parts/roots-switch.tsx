import { setSearch } from '../router.ts'

/** When it is off, calls made by other calls count as well. */
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
