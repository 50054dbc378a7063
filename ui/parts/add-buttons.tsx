import { paths } from '../routes.ts'
import { may } from '../server/rights.ts'
import type { Shortcut } from './shortcuts.ts'

type Target = 'queue' | 'dataset'
type Props = { project: string; className?: string; add(to: Target): void }

/** Adds something to a queue or a dataset, for those who may change them. */
export function AddButtons({ project, className, add }: Props) {
  if (!may('write', project)) return null
  return (['queue', 'dataset'] as const).map((to) => (
    <button key={to} type="button" class={className} onClick={() => add(to)}>
      To {to}
    </button>
  ))
}

export const addKeys = (project: string, add: (to: Target) => void, what = 'Add'): Shortcut[] =>
  may('write', project)
    ? [
        { keys: ['a'], does: `${what} to a queue`, run: () => add('queue') },
        { keys: ['d'], does: `${what} to a dataset`, run: () => add('dataset') },
      ]
    : []

export const PlayLink = ({ project, id }: { project: string; id: string }) =>
  may('infer', project) ? (
    <a class="button" href={paths.play({ p: project, from: id })} title="Open in the playground">
      Playground
    </a>
  ) : null
