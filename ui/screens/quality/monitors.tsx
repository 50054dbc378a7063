import { ListTable } from '../../parts/list-table.tsx'
import { QualityHead } from '../../parts/lists-head.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { FailedScreen } from '../../parts/states.tsx'
import { search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { readMonitors, readStats } from '../../server/monitors.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { parseRef } from '../../value/ref.ts'
import { numberText, shareText } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'
import { NewMonitor } from './new-monitor.tsx'

/** The monitors of a project, with what they have judged. */
export function MonitorsScreen({ project }: { project: string }) {
  const loaded = useLoading((signal) => readWithStats(project, signal), [project])
  const asked = search.value.get('new')
  const make = () => setSearch({ new: '-' })
  const mayMake = may('write', project)
  useShortcuts('Monitors', mayMake ? [{ keys: ['n'], does: 'New monitor', run: make }] : [])
  if (isForbidden(loaded.error)) return <FailedScreen name="Monitors" error={loaded.error} />
  return (
    <main class="screen sheet quality">
      <QualityHead project={project} title="Monitors">
        {mayMake && (
          <button type="button" class="main-button" onClick={make}>
            New monitor
          </button>
        )}
      </QualityHead>
      <ListTable
        label="Monitors"
        {...{ loaded }}
        keyOf={({ id }) => id}
        columns={{
          Name: ({ id, name, active }) => (
            <>
              <a class="strong" href={paths.monitor(project, id)}>
                {name}
              </a>
              {!active && <span class="muted"> paused</span>}
            </>
          ),
          Judges: ({ scorers }) => scorers.map(({ scorer }) => parseRef(scorer)?.name ?? scorer).join(', '),
          Share: ({ sampling_rate }) => shareText(sampling_rate),
          Mean: ({ stats }) => {
            const [score] = stats?.scores ?? []
            if (score === undefined) return '–'
            return score.is_boolean ? `${shareText(score.mean)} yes` : numberText(score.mean)
          },
          Judged: ({ stats }) => countText(stats?.judged ?? 0),
          Skipped: ({ stats }) => countText(stats?.skipped ?? 0),
          Failed: ({ stats }) => (
            <span class={stats?.failed ? 'problem' : ''}>{countText(stats?.failed ?? 0)}</span>
          ),
          Waiting: ({ stats }) => countText(stats?.pending ?? 0),
        }}
        numbers={['Share', 'Mean', 'Judged', 'Skipped', 'Failed', 'Waiting']}
        empty="No monitors yet"
      >
        <p>A monitor applies a judge or a check to a share of the calls, as they arrive.</p>
      </ListTable>
      {mayMake && asked !== null && (
        <NewMonitor
          {...{ project }}
          scorer={asked === '-' ? '' : asked}
          onClose={() => setSearch({ new: undefined })}
        />
      )}
    </main>
  )
}

async function readWithStats(project: string, signal: AbortSignal) {
  const monitors = await readMonitors(project, signal)
  const ids = monitors.map(({ id }) => id)
  const stats = new Map((await readStats(project, ids, signal)).map((own) => [own.monitor_id, own]))
  return monitors.map((monitor) => ({ ...monitor, stats: stats.get(monitor.id) }))
}
