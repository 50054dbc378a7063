import { countText } from '../value/units.ts'

/** Progress as a bar and in words. */
export function ProgressBar({ done, all }: { done: number; all: number }) {
  const share = all === 0 ? 0 : (100 * done) / all
  return (
    <div class="progress">
      <div
        class="progress-line"
        aria-hidden="true"
        ref={(element) => element?.style.setProperty('--done', `${share}%`)}
      />
      <span>
        {countText(done)} of {countText(all)}
      </span>
    </div>
  )
}
