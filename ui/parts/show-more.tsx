import { countText } from '../value/units.ts'

/** Follows the first rows of a long list. */
export function ShowMore({
  shown,
  count,
  onShow,
}: {
  shown: number
  count: number
  onShow(shown: number): void
}) {
  const next = shown * 4
  return (
    <>
      <span class="muted">
        {countText(shown)} of {countText(count)}
      </span>
      {next < count && (
        <button type="button" class="quiet" onClick={() => onShow(next)}>
          Show {countText(next)}
        </button>
      )}
      <button type="button" class="quiet" onClick={() => onShow(count)}>
        Show all {countText(count)}
      </button>
    </>
  )
}
