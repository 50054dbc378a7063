import { PlainTable } from '../../parts/plain-table.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { readMonitors } from '../../server/monitors.ts'
import { isForbidden } from '../../server/request.ts'
import { isServed, readScorers } from '../../server/scorers.ts'
import { parseRef } from '../../value/ref.ts'
import { QualityHead } from './head.tsx'

/** Judges, checks, and scorers that run elsewhere. */
export function JudgesScreen({ project }: { project: string }) {
  const { value, error, reload } = useLoading(
    async (signal) => {
      const [scorers, monitors] = await Promise.all([
        readScorers(project, signal),
        readMonitors(project, signal),
      ])
      const counts = new Map<string, number>()
      for (const { scorers: bound } of monitors) {
        for (const { scorer } of bound) {
          const name = parseRef(scorer)?.name ?? ''
          counts.set(name, (counts.get(name) ?? 0) + 1)
        }
      }
      return { scorers, counts }
    },
    [project],
  )
  useShortcuts('Judges', [{ keys: ['n'], does: 'New judge', run: () => navigate(paths.newJudge(project)) }])
  if (isForbidden(error)) return <FailedScreen name="Judges" error={error} />
  return (
    <main class="screen sheet quality">
      <QualityHead project={project} title="Judges">
        <a class="button main-button" href={paths.newJudge(project)}>
          New judge
        </a>
      </QualityHead>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={6} />}
      {value?.scorers.length === 0 && (
        <Empty title="No judges yet">
          <p>
            A judge asks a model about a call; a check needs no model. Both score the answers of runs, and
            calls as they arrive.
          </p>
        </Empty>
      )}
      {value !== undefined && value.scorers.length > 0 && (
        <PlainTable label="Judges" columns={['Name', 'Kind', 'Asks', 'Monitors', 'Created']}>
          {value.scorers.map((scorer) => (
            <tr key={scorer.name}>
              <td>
                <a class="strong" href={paths.object(project, scorer.name)}>
                  {scorer.name}
                </a>
              </td>
              <td>{scorer.judge ? 'judge' : (scorer.check?.replaceAll('_', ' ') ?? 'code elsewhere')}</td>
              <td class="quality-text">{scorer.judge?.prompt ?? scorer.description}</td>
              <td>
                {value.counts.get(scorer.name) ?? 0}{' '}
                {isServed(scorer) && (
                  <a
                    href={paths.monitors(project, { new: scorer.name })}
                    aria-label={`Monitor with ${scorer.name}`}
                  >
                    Monitor
                  </a>
                )}
              </td>
              <td>
                <Time at={scorer.at} />
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </main>
  )
}
