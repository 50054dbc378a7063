import { setSearch } from '../router.ts'

/** Goes through a long list that is read from the newest on; the page is in the address. */
export function OlderPages({
  before,
  next,
}: {
  before: string | undefined
  next: string | null | undefined
}) {
  if (before === undefined && next == null) return null
  const go = (to: string | undefined) => setSearch({ before: to }, { replaces: false })
  return (
    <div class="older-pages">
      {before !== undefined && (
        <button type="button" onClick={() => go(undefined)}>
          Newest
        </button>
      )}
      {next != null && (
        <button type="button" onClick={() => go(next)}>
          Older
        </button>
      )}
    </div>
  )
}
