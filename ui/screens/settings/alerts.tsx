import { wordingOf } from '../../filter/conditions.ts'
import { ListTable } from '../../parts/list-table.tsx'
import { SettingsHead } from '../../parts/lists-head.tsx'
import { Time } from '../../parts/time.tsx'
import { search, setSearch } from '../../router.ts'
import {
  type AlertRule,
  measureTexts,
  pause,
  readEvents,
  readRules,
  remove,
  watchedTexts,
} from '../../server/alerts.ts'
import { useLoading } from '../../server/loading.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { countText } from '../../value/units.ts'
import { NewAlert } from './new-alert.tsx'

/** Among these the last message of a rule is looked for. */
const recentMessages = 200

/** The alert rules of a project, and how each is doing. */
export function AlertsScreen({ project }: { project: string }) {
  const loaded = useLoading((signal) => readRulesFired(project, signal), [project])
  const mayChange = may('write', project)
  const asked = search.value.get('new')
  return (
    <main class="screen sheet quality">
      <SettingsHead {...{ project }} title="Alerts">
        {mayChange && (
          <button type="button" class="main-button" onClick={() => setSearch({ new: '-' })}>
            New rule
          </button>
        )}
      </SettingsHead>
      <ListTable
        label="Alert rules"
        {...{ loaded }}
        keyOf={({ id }) => id}
        columns={columns}
        acts={({ id, name: of, active }) =>
          mayChange
            ? [
                { name: active ? 'Pause' : 'Resume', of, run: () => pause(project, 'rules', id, active) },
                {
                  name: 'Delete',
                  of,
                  ask: 'What it has fired is still delivered.',
                  run: () => existedUntilDeleted(remove(project, 'rules', id)),
                },
              ]
            : []
        }
        empty="No alert rules yet"
      >
        <p>A rule says which calls, scores or figures are worth a message. An endpoint is where it goes.</p>
      </ListTable>
      {asked !== null && mayChange && (
        <NewAlert
          {...{ project }}
          filter={asked === '-' ? '' : asked}
          onMade={loaded.reload}
          onClose={() => setSearch({ new: undefined })}
        />
      )}
    </main>
  )
}

type ListedRule = AlertRule & { fired: string | undefined; isLongAgo: boolean }

async function readRulesFired(project: string, signal: AbortSignal): Promise<ListedRule[]> {
  const [rules, events] = await Promise.all([
    readRules(project, signal),
    readEvents(project, { type: 'alert.fired', limit: recentMessages }, signal),
  ])
  const isLongAgo = events.length === recentMessages
  return rules.map((rule) => ({
    ...rule,
    fired: events.find(({ rule_id }) => rule_id === rule.id)?.timestamp,
    isLongAgo,
  }))
}

const columns = {
  Name: ({ name }: ListedRule) => <span class="strong">{name}</span>,
  Fires: (rule: ListedRule) => <span class="quality-text">{conditionText(rule)}</span>,
  Severity: ({ severity }: ListedRule) => severity,
  State: ({ active, firing }: ListedRule) =>
    active ? firing ? <span class="problem">firing</span> : 'on' : <span class="muted">paused</span>,
  'Last fired': ({ fired, isLongAgo }: ListedRule) =>
    fired === undefined ? (
      <span class="muted">{isLongAgo ? `not in the last ${recentMessages}` : 'not in 30 days'}</span>
    ) : (
      <Time at={fired} />
    ),
  Pending: ({ suppressed }: ListedRule) =>
    suppressed === 0 ? <span class="muted">0</span> : `${countText(suppressed)} in the cool-down`,
}

function conditionText({ on, score, decision, queue, budget, window, query, filter }: AlertRule): string {
  const { text: calls } = wordingOf({ query, filter })
  const of = window ?? score ?? decision
  // A decision may have none.
  const bound = of?.below != null ? ` below ${of.below}` : of?.above != null ? ` above ${of.above}` : ''
  const scored = [(window ?? score)?.scorer, (window ?? score)?.path].filter((name) => name != null).join(' ')
  if (window != null)
    return `${measureTexts[window.measure]}${scored && ` of ${scored}`}${bound} in ${window.seconds / 60} min${calls && ` of ${calls}`}`
  if (decision != null)
    return `decision ${decision.question ?? 'on any question'}: ${decision.answer ?? 'probability'}${bound}`
  if (queue?.waiting === 0) return 'when no item of a queue waits any more'
  if (queue != null) return `from ${countText(queue.waiting)} waiting items of a queue on`
  if (budget != null) return `from ${Math.round(budget.share * 1_000) / 10} % of a budget of the project on`
  if (score != null) return `score ${scored || 'of any scorer'}${bound}`
  return calls === ''
    ? `for every ${on === 'call' ? 'call that ends' : 'score'}`
    : `for ${watchedTexts[on]} and meets ${calls}`
}
