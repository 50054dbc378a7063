import { useRef, useState } from 'preact/hooks'
import { serverUrl } from '../../base.ts'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { listKeys, useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { type ObjectVersion, readVersions } from '../../server/objects.ts'
import { isForbidden } from '../../server/request.ts'
import { classText } from '../../value/ref.ts'
import { projectInAddress } from '../../value/shell.ts'
import { countText, sizeText } from '../../value/units.ts'
import { VersionMarks } from '../object/version-marks.tsx'

/** Limit for ops, and the same for all other objects. */
const mostObjects = 1_000

const classOf = ({ kind, base_object_class: base }: ObjectVersion) =>
  kind === 'op' ? 'Op' : (base ?? 'Other')

/** Ops are read separately, because a client may have many of them. */
async function readAll(
  project: string,
  signal: AbortSignal,
): Promise<{ all: ObjectVersion[]; isPart: boolean }> {
  const view = { project, latestOnly: true, limit: mostObjects }
  const found = await Promise.all([false, true].map((isOp) => readVersions({ ...view, isOp }, signal)))
  return { all: found.flat(), isPart: found.some(({ length }) => length === mostObjects) }
}

/** The objects of a project: datasets, prompts, scorers, models, annotation specs, ops. */
export function ObjectsScreen({ project }: { project: string }) {
  const { value, error, reload } = useLoading((signal) => readAll(project, signal), [project])
  const chosen = search.value.get('class') ?? undefined
  const kept = useListPosition(`${project} ${chosen}`)
  const [screen, body] = [useRef<HTMLElement>(null), useRef<HTMLTableSectionElement>(null)]
  const [active, setActive] = useState(kept.left?.active ?? -1)
  const keepPlace = useScrollRestoration(kept, { scroller: screen, isLoaded: value !== undefined, active })
  const all = value?.all ?? []
  const counts = new Map<string, number>()
  for (const one of all) counts.set(classOf(one), (counts.get(classOf(one)) ?? 0) + 1)
  const classes = [...counts].sort(([one], [other]) => (one < other ? -1 : 1))
  const shown = chosen === undefined ? all : all.filter((one) => classOf(one) === chosen)
  const current = shown[active]
  const move = (by: number) => {
    const next = Math.min(shown.length - 1, Math.max(0, active + by))
    setActive(next)
    body.current?.children[next]?.scrollIntoView({ block: 'nearest' })
  }
  useShortcuts('Objects', [
    ...listKeys('object', move),
    {
      keys: ['Enter', 'o'],
      does: 'Open object',
      run: () => current && navigate(paths.object(project, current.object_id)),
    },
  ])
  const choose = (name: string | undefined) => {
    setActive(-1)
    setSearch({ class: name })
  }
  if (isForbidden(error)) return <FailedScreen name="Objects" error={error} />
  return (
    <main class="screen sheet" ref={screen} onScroll={() => keepPlace()}>
      <header class="sheet-head">
        <h1>Objects</h1>
      </header>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={8} />}
      {value?.all.length === 0 && (
        <Empty title="No objects yet" command={firstDataset(project)}>
          <p>
            Datasets, prompts, scorers and models that clients publish appear here, with all of their
            versions.
          </p>
        </Empty>
      )}
      {all.length > 0 && (
        <>
          <div class="choices is-bare" role="group" aria-label="Class">
            {[[undefined, all.length] as const, ...classes].map(([name, count]) => (
              <button
                key={name ?? ''}
                type="button"
                class="chip"
                aria-pressed={name === chosen}
                onClick={() => choose(name)}
              >
                {classText(name ?? 'All')} <span class="muted">{countText(count)}</span>
              </button>
            ))}
          </div>
          <div class="scrolled">
            <table class="table object-list">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Class</th>
                  <th scope="col">Version</th>
                  <th scope="col" class="is-number">
                    Size
                  </th>
                  <th scope="col">By</th>
                  <th scope="col">Created</th>
                </tr>
              </thead>
              <tbody ref={body}>
                {shown.map((one, index) => (
                  <tr
                    key={one.object_id}
                    class={index === active ? 'is-active' : ''}
                    aria-selected={index === active}
                  >
                    <td>
                      <a
                        class="strong"
                        dir="auto"
                        href={paths.object(project, one.object_id)}
                        onClick={() => keepPlace(index)}
                      >
                        {one.object_id}
                      </a>
                    </td>
                    <td title={one.leaf_object_class ?? undefined}>
                      {classText(one.leaf_object_class ?? classOf(one))}
                    </td>
                    <td>
                      <VersionMarks version={one} />
                    </td>
                    <td class="is-number">{sizeText(one.size_bytes)}</td>
                    <td dir="auto">{one.svc_user_id}</td>
                    <td>
                      <Time at={one.created_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {value?.isPart && (
            <p class="muted">
              Showing the newest {countText(mostObjects)} ops and the newest {countText(mostObjects)} other
              objects.
            </p>
          )}
        </>
      )}
    </main>
  )
}

const firstDataset = (project: string) =>
  `curl ${serverUrl()}/v2/${projectInAddress(project)}/datasets \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"name": "capitals", "rows": [{"question": "Capital of Chad?", "answer": "N'"'"'Djamena"}]}'`
