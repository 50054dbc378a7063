import { ListTable } from '../../parts/list-table.tsx'
import { Problem } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useWork } from '../../parts/work.ts'
import { useLoading } from '../../server/loading.ts'
import { deleteRule, makeRule, pauseRule, type QueueRule, readRules } from '../../server/queues.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { countText } from '../../value/units.ts'
import { NewRuleForm } from './new-rule.tsx'

/** The rules that add calls to the queue as they end. */
export function Rules({ project, queue, mayWrite }: { project: string; queue: string; mayWrite: boolean }) {
  const loaded = useLoading((signal) => readRules(project, queue, signal), [project, queue])
  const { failure, work } = useWork()
  const { reload } = loaded
  return (
    <div class="in-panel rules">
      <ListTable
        label="Rules"
        {...{ loaded }}
        keyOf={({ id }) => id}
        columns={{
          Adds: pickText,
          Filter: filterText,
          'Created by': ({ created_by: by }) => by,
          Created: ({ created_at: at }) => <Time at={at} />,
          Status: ({ id, paused }) => (
            <label class="check">
              <input
                type="checkbox"
                checked={!paused}
                disabled={!mayWrite}
                onChange={() => void work(() => pauseRule(project, queue, id, !paused).then(reload))}
              />
              {paused ? 'Paused' : 'On'}
            </label>
          ),
        }}
        acts={(rule) => [
          mayWrite && {
            name: 'Delete',
            of: `rule: ${pickText(rule)}`,
            ask: 'It adds no more calls. Those that it has added stay.',
            run: () => existedUntilDeleted(deleteRule(project, queue, rule.id)),
          },
        ]}
        empty="No rules yet"
      >
        <p>A rule adds each call that it matches, as the call ends.</p>
      </ListTable>
      <Problem text={failure?.message} />
      {loaded.value && mayWrite && (
        <NewRuleForm onMake={(rule) => makeRule(project, queue, rule).then(reload)} />
      )}
    </div>
  )
}

function pickText({ pick, counted }: QueueRule): string {
  switch (pick.kind) {
    case 'all':
      return 'every call'
    case 'every_nth':
      return `every ${countText(pick.n)}th call, ${countText(counted)} counted`
    case 'errors':
      return 'calls that failed'
    case 'scores': {
      const what = [pick.scorer ?? 'any scorer', pick.path].filter((one) => one != null).join(' ')
      return pick.below == null ? `${what} above ${pick.above}` : `${what} below ${pick.below}`
    }
  }
}

function filterText({ filter }: QueueRule): string {
  const parts = [...(filter.op_names ?? []), ...(filter.models ?? []).map((model) => `model ${model}`)]
  return parts.length === 0 ? 'all' : parts.join(', ')
}
