import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { isForbidden } from '../../server/request.ts'
import { countText } from '../../value/units.ts'
import { useFeedback } from './feedback.tsx'
import { AgentGrid, useSort } from './grid.tsx'
import { RangeChoice, showAllTimes, useRange } from './range.tsx'
import { readAgents } from './reading.ts'

const named = 'agent_name'

/** The agents of a project, with how they do and what they use. */
export function AgentsScreen({ project }: { project: string }) {
  const { range, since } = useRange()
  const sort = useSort(named)
  const { value, error, reload } = useLoading(
    (signal) => readAgents({ project, since, sort }, signal),
    [project, since, sort.field, sort.direction],
  )
  const { feedbackOf, note } = useFeedback(project, since)
  if (isForbidden(error)) return <FailedScreen name="Agents" error={error} />
  const shown = value?.agents.length ?? 0
  return (
    <main class="screen">
      <h1 class="hidden-text">Agents of {project}</h1>
      <div class="filter-bar">
        <RangeChoice range={range} />
        <output class="muted count">
          {value && `${countOf(shown, value.total_count)} ${value.total_count === 1 ? 'agent' : 'agents'}`}
        </output>
      </div>
      {note}
      <div class="calls-body">
        {error ? (
          <div class="in-place">
            <Failed error={error} retry={reload} />
          </div>
        ) : value === undefined ? (
          <div class="in-place">
            <Skeleton rows={10} />
          </div>
        ) : shown === 0 ? (
          <div class="in-place">
            <NoAgents project={project} isAll={since === undefined} />
          </div>
        ) : (
          <AgentGrid
            {...{ label: 'Agents', noun: 'agent', sort, named, rows: value.agents }}
            nameOf={({ agent_name }) => agent_name}
            pathOf={({ agent_name }) => paths.agent(project, agent_name, range)}
            feedbackOf={feedbackOf && (({ agent_name }) => feedbackOf(agent_name))}
          />
        )}
      </div>
    </main>
  )
}

const countOf = (shown: number, all: number): string =>
  shown < all ? `${countText(shown)} of ${countText(all)}` : countText(all)

function NoAgents({ project, isAll }: { project: string; isAll: boolean }) {
  return (
    <Empty title={isAll ? 'No agents yet' : 'No agents in this time range'}>
      <p>
        Calls that name an agent are its own, and so are those below them: <code>gen_ai.agent.name</code> in
        spans of OpenTelemetry, <code>agent.name</code> of OpenInference, an op of the kind <code>agent</code>{' '}
        of Weave.
      </p>
      {isAll ? (
        <a class="button" href={paths.calls(project)}>
          Calls of the project
        </a>
      ) : (
        <button type="button" onClick={showAllTimes}>
          Show all times
        </button>
      )}
    </Empty>
  )
}
