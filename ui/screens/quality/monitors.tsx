import { PlainTable } from '../../parts/plain-table.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { readMonitors, readStats } from '../../server/monitors.ts'
import { isForbidden } from '../../server/request.ts'
import { parseRef } from '../../value/ref.ts'
import { numberText, shareText } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'
import { QualityHead } from './head.tsx'
import { NewMonitor } from './new-monitor.tsx'

/** The monitors of a project, with what they have judged. */
export function MonitorsScreen({ project }: { project: string }) {
  const { value, error, reload } = useLoading(
    async (signal) => {
      const monitors = await readMonitors(project, signal)
      const ids = monitors.map(({ id }) => id)
      return { monitors, stats: await readStats(project, ids, signal) }
    },
    [project],
  )
  const asked = search.value.get('new')
  const make = () => setSearch({ new: '-' })
  useShortcuts('Monitors', [{ keys: ['n'], does: 'New monitor', run: make }])
  if (isForbidden(error)) return <FailedScreen name="Monitors" error={error} />
  const stats = new Map(value?.stats.map((own) => [own.monitor_id, own]))
  return (
    <main class="screen sheet quality">
      <QualityHead project={project} title="Monitors">
        <button type="button" class="main-button" onClick={make}>
          New monitor
        </button>
      </QualityHead>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={6} />}
      {value?.monitors.length === 0 && (
        <Empty title="No monitors yet">
          <p>A monitor applies a judge or a check to a share of the calls, as they arrive.</p>
        </Empty>
      )}
      {value !== undefined && value.monitors.length > 0 && (
        <PlainTable
          label="Monitors"
          columns={['Name', 'Judges', 'Share', 'Mean', 'Judged', 'Skipped', 'Failed', 'Waiting']}
        >
          {value.monitors.map(({ id, name, scorers, sampling_rate, active }) => {
            const own = stats.get(id)
            const [mean] = own?.scores ?? []
            return (
              <tr key={id}>
                <td>
                  <a class="strong" href={paths.monitor(project, id)}>
                    {name}
                  </a>
                  {!active && <span class="muted"> paused</span>}
                </td>
                <td>{scorers.map(({ scorer }) => parseRef(scorer)?.name ?? scorer).join(', ')}</td>
                <td>{shareText(sampling_rate)}</td>
                <td>{mean ? numberText(mean.mean) : '–'}</td>
                <td>{countText(own?.judged ?? 0)}</td>
                <td>{countText(own?.skipped ?? 0)}</td>
                <td class={own?.failed ? 'problem' : ''}>{countText(own?.failed ?? 0)}</td>
                <td>{countText(own?.pending ?? 0)}</td>
              </tr>
            )
          })}
        </PlainTable>
      )}
      {asked !== null && (
        <NewMonitor
          {...{ project }}
          scorer={asked === '-' ? '' : asked}
          onClose={() => setSearch({ new: undefined })}
        />
      )}
    </main>
  )
}
