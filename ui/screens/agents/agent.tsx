import { type Filter, writeFilter } from '../../../packages/filter/index.ts'
import type { LightCall } from '../../../src/operations/views/contract.ts'
import { Cost } from '../../parts/cost.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search } from '../../router.ts'
import { paths } from '../../routes.ts'
import { nameOf, newestFirst, readPage } from '../../server/calls.ts'
import { useLoading } from '../../server/loading.ts'
import { isForbidden } from '../../server/request.ts'
import { latestFirst, readThreads, type Thread } from '../../server/threads.ts'
import { previewText } from '../../value/preview-text.ts'
import { countText, durationText } from '../../value/units.ts'
import { modelsOf, pathOfCall } from '../calls/line.tsx'
import { parseQuery } from '../calls/parse-query.ts'
import { useFeedback } from './feedback.tsx'
import { AgentGrid, useSort } from './grid.tsx'
import { RangeChoice, showAllTimes, useRange } from './range.tsx'
import { readVersions } from './reading.ts'

const named = 'agent_version'
const newest = { offset: 0, limit: 10 }

/** One agent: its versions beside each other, and its newest conversations and calls. */
export function AgentScreen({ project }: { project: string }) {
  const agent = search.value.get('agent') ?? ''
  const { range, since } = useRange()
  const sort = useSort(named)
  const versions = useLoading(
    async (signal) =>
      agent === '' ? { versions: [] } : readVersions(agent, { project, since, sort }, signal),
    [project, agent, since, sort.field, sort.direction],
  )
  const { feedbackOf, note } = useFeedback(project, since, agent)
  const filter = filterOf(agent, since)
  const query = parseQuery(filter)
  useShortcuts('Agent', [
    { keys: ['Escape'], does: 'Back to the agents', run: () => navigate(paths.agents(project, { range })) },
  ])
  const { value, error, reload } = versions
  if (isForbidden(error)) return <FailedScreen name="Agent" error={error} />
  return (
    <main class="screen">
      <div class="trace-bar thread-bar">
        <a class="icon-button" href={paths.agents(project, { range })} aria-label="Back to the agents">
          <Icon name="back" />
        </a>
        <h1 dir="auto" title={agent}>
          {agent || 'No agent'}
        </h1>
        <RangeChoice range={range} />
      </div>
      <div class="sheet agent-sheet">
        {error && <Failed error={error} retry={reload} />}
        {!error && value === undefined && <Skeleton rows={4} />}
        {value?.versions.length === 0 && (
          <Empty title={since ? 'No calls of this agent in this time range' : 'No calls of this agent'}>
            {since && (
              <button type="button" onClick={showAllTimes}>
                Show all times
              </button>
            )}
          </Empty>
        )}
        {value !== undefined && value.versions.length > 0 && (
          <>
            <AgentGrid
              {...{ label: 'Versions', noun: 'version', sort, named, rows: value.versions }}
              nameOf={({ agent_version }) => agent_version || 'no version'}
              pathOf={({ agent_version }) =>
                paths.calls(project, callsOf(filterOf(agent, since, agent_version)))
              }
              feedbackOf={feedbackOf && (({ agent_version }) => feedbackOf(agent_version))}
            />
            {note}
            <Newest {...{ project, filter, query: 'query' in query ? query.query : undefined }} />
          </>
        )}
      </div>
    </main>
  )
}

interface NewestProps {
  project: string
  filter: string
  query: Parameters<typeof readThreads>[0]['query']
}

/** The newest conversations and calls of a filter, and links to all of them. */
function Newest({ project, filter, query }: NewestProps) {
  const threads = useLoading(
    (signal) => readThreads({ project, query, sort: latestFirst }, newest, signal),
    [project, filter],
  )
  const calls = useLoading(
    (signal) => readPage({ project, roots: false, query, sort: newestFirst }, {}, newest, signal),
    [project, filter],
  )
  return (
    <>
      <header class="sheet-head">
        <h2>Newest conversations</h2>
        <a href={paths.threads(project, { q: filter })}>All conversations of the agent</a>
      </header>
      <ListTable<Thread>
        label="Newest conversations"
        loaded={threads}
        keyOf={({ thread_id }) => thread_id}
        columns={{
          Conversation: ({ thread_id, ...thread }) => (
            <a dir="auto" class="agent-asked" href={paths.thread(project, thread_id)}>
              {previewText(thread.input_preview ?? thread_id)}
            </a>
          ),
          Turns: ({ turn_count }) => countText(turn_count),
          Failed: ({ error_count }) => error_count > 0 && countText(error_count),
          Cost: ({ cost, models, ...thread }) => (
            <Cost {...{ cost, models, tokens: (thread.input_tokens ?? 0) + (thread.output_tokens ?? 0) }} />
          ),
          'Last activity': ({ last_updated }) => <Time at={last_updated} />,
        }}
        numbers={['Turns', 'Failed', 'Cost']}
        empty="No conversations"
      >
        <p>Its calls name no thread.</p>
      </ListTable>
      <header class="sheet-head">
        <h2>Newest calls</h2>
        <a href={paths.calls(project, callsOf(filter))}>All calls of the agent</a>
      </header>
      <ListTable<LightCall>
        label="Newest calls"
        loaded={calls}
        keyOf={({ id }) => id}
        columns={{
          Call: (call) => (
            <a dir="auto" class="agent-asked" href={pathOfCall(project, call)}>
              {previewText(call.input_preview ?? nameOf(call))}
            </a>
          ),
          Status: ({ status }) => <Status status={status} />,
          Latency: ({ latency_ms }) => latency_ms !== null && durationText(latency_ms),
          Cost: (call) => (
            <Cost
              cost={call.cost}
              tokens={(call.input_tokens ?? 0) + (call.output_tokens ?? 0)}
              models={modelsOf(call)}
            />
          ),
          Started: ({ started_at }) => <Time at={started_at} />,
        }}
        numbers={['Latency', 'Cost']}
        empty="No calls"
      />
    </>
  )
}

/** The calls that name the agent, as the filter bar has them; an empty version is that of calls without one. */
function filterOf(agent: string, since: Date | undefined, version?: string): string {
  const is = (field: string, value: string, sign: '' | '>=' = ''): Filter => {
    return { kind: 'field', field, sign, value, isQuoted: sign === '' }
  }
  const of: Filter[] = [is('agent', agent)]
  if (version === '')
    of.push({ kind: 'not', of: { kind: 'field', field: 'has', sign: '', value: named, isQuoted: false } })
  else if (version !== undefined) of.push(is(named, version))
  if (since) of.push(is('started', since.toISOString(), '>='))
  return writeFilter({ kind: 'all', of })
}

/** Of an agent's calls few are roots, and all are counted, whatever they were made for. */
const callsOf = (q: string) => ({ q, all: '1', judged: '1' })
