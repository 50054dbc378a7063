import { Icon } from '../../parts/icon.tsx'
import { setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import type { CompareView } from './view.ts'

interface Props {
  view: CompareView
  letters: ReadonlyMap<string, string>
  names: ReadonlyMap<string, string>
  counts: ReadonlyMap<string, string>
}

/** The compared runs; the first is the baseline of the others. */
export function RunBar({ view: { project, ids, base, side }, letters, names, counts }: Props) {
  const without = (id: string) =>
    setSearch({
      ids: ids.filter((one) => one !== id).join(','),
      base: id === base ? undefined : base,
      side: id === side ? undefined : side,
    })
  return (
    <ul class="run-bar" aria-label="Runs">
      {ids.map((id) => (
        <li key={id} class={id === base ? 'is-base' : id === side ? 'is-side' : ''}>
          <span class="letter">{letters.get(id)}</span>
          <span dir="auto" class="run-bar-name" title={names.get(id)}>
            {names.get(id)}
          </span>
          <span class="muted run-bar-count">{counts.get(id)}</span>
          {id === base ? (
            ids.length > 1 && <span class="muted">baseline</span>
          ) : (
            <button
              type="button"
              class="quiet"
              data-file={null}
              aria-label={`${letters.get(id)}: make baseline`}
              onClick={() => setSearch({ base: id, side: base, ids: ids.join(',') })}
            >
              make baseline
            </button>
          )}
          {ids.length > 1 && (
            <button
              type="button"
              class="icon-button"
              data-file={null}
              aria-label={`Remove ${letters.get(id)}`}
              onClick={() => without(id)}
            >
              <Icon name="close" />
            </button>
          )}
        </li>
      ))}
      <li class="run-bar-more" data-file={null}>
        <a class="button" href={`${paths.evals(project)}?sel=${ids.map(encodeURIComponent).join(',')}`}>
          Select runs
        </a>
      </li>
    </ul>
  )
}
