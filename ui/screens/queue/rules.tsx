import { useState } from 'preact/hooks'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Failed, Problem, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useWork } from '../../parts/work.ts'
import { useLoading } from '../../server/loading.ts'
import { deleteRule, makeRule, pauseRule, type QueueRule, readRules } from '../../server/queues.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { countText } from '../../value/units.ts'
import { NewRuleForm } from './new-rule.tsx'

/** The rules that add calls to the queue as they end. */
export function Rules({ project, queue, mayWrite }: { project: string; queue: string; mayWrite: boolean }) {
  const { value, error, reload } = useLoading((signal) => readRules(project, queue, signal), [project, queue])
  const { failure, work } = useWork()
  const [leaving, setLeaving] = useState<QueueRule>()
  if (error) return <Failed error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={4} />
  return (
    <div class="in-panel rules">
      {value.length === 0 ? (
        <Empty title="No rules yet">
          <p>A rule adds each call that it matches, as the call ends.</p>
        </Empty>
      ) : (
        <div class="scrolled">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Adds</th>
                <th scope="col">Filter</th>
                <th scope="col">Created by</th>
                <th scope="col">Created</th>
                <th scope="col">Status</th>
                <th scope="col">
                  <span class="hidden-text">Delete</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.map((rule) => (
                <tr key={rule.id}>
                  <td>{pickText(rule)}</td>
                  <td>{filterText(rule)}</td>
                  <td>{rule.created_by}</td>
                  <td>
                    <Time at={rule.created_at} />
                  </td>
                  <td>
                    <label class="check">
                      <input
                        type="checkbox"
                        checked={!rule.paused}
                        disabled={!mayWrite}
                        onChange={() =>
                          void work(() => pauseRule(project, queue, rule.id, !rule.paused).then(reload))
                        }
                      />
                      {rule.paused ? 'Paused' : 'On'}
                    </label>
                  </td>
                  <td class="is-number">
                    {mayWrite && (
                      <button
                        type="button"
                        class="icon-button"
                        aria-label={`Delete rule: ${pickText(rule)}`}
                        onClick={() => setLeaving(rule)}
                      >
                        <Icon name="trash" />
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Problem text={failure?.message} />
      {mayWrite && <NewRuleForm onMake={(rule) => makeRule(project, queue, rule).then(reload)} />}
      {leaving && (
        <ConfirmDialog
          title="Delete rule?"
          text="It adds no more calls. Those that it has added stay."
          yes="Delete rule"
          onYes={async () => {
            await existedUntilDeleted(deleteRule(project, queue, leaving.id))
            reload()
          }}
          onClose={() => setLeaving(undefined)}
        />
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
