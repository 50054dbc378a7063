import { begun, end, idOf, longThread } from './growth-record.ts'

/** What the page asks for on the screens of conversations and agents, for `growth.ts --threads`. */

const field = (name: string) => ({ $getField: name })
const where = (operator: string, name: string, value: unknown) => ({
  query: { $expr: { [operator]: [field(name), { $literal: value }] } },
})
const iso = (micros: number) => new Date(micros / 1000).toISOString()
const day = 86_400_000_000
const month = begun + 25 * day

const list = '/threads/stream_query'
const first = { limit: 50, offset: 0, include_details: true }
const by = (name: string) => ({ sort_by: [{ field: name, direction: 'desc' }] })
const latest = { ...first, ...by('last_updated') }
const agents = { ...by('last_seen'), limit: 1_000, include_costs: true, include_details: true }
const recent = { started_after: iso(month) }

/** As the page finds them. */
const isTurn = {
  $or: [{ $eq: [field('parent_id'), { $literal: null }] }, { $eq: [field('turn_id'), field('id')] }],
}
const turns = {
  filter: { thread_ids: [longThread] },
  query: { $expr: isTurn },
  sort_by: [{ field: 'started_at', direction: 'asc' }],
  count_up_to: 0,
  limit: 100,
}
const ofLong = { filter: { thread_ids: [longThread] }, limit: 1, include_details: true }

const duration = { source: 'field', key: 'duration_ms' }
const byConversation = { group_by: [{ source: 'field', key: 'conversation_id' }], limit: 50 }
/** What a screen full of calls asks for, behind its list. */
const newestRoots = (size: number) => Array.from({ length: 100 }, (_, n) => idOf(size - 4 * (n + 1)))

export const questionsOfThreads: [name: string, url: string, body: object | ((size: number) => object)][] = [
  ['conversations: the latest 50', list, latest],
  ['by turns', list, { ...first, ...by('turn_count') }],
  ['by latency', list, { ...first, ...by('p50_turn_duration_ms') }],
  ['by cost', list, { ...first, ...by('cost') }],
  ['by failures', list, { ...first, ...by('error_count') }],
  ['cost > 1.9: a call in a hundred', list, { ...latest, ...where('$gt', 'cost', 1.9) }],
  ['cost > 100: no call', list, { ...latest, ...where('$gt', 'cost', 100) }],
  ['of a user', list, { ...latest, ...where('$eq', 'svc_user_id', 'user-3') }],
  ['of an agent', list, { ...latest, ...where('$eq', 'agent', 'agent-3') }],
  ['where inputs.customer = 4242', list, { ...latest, ...where('$eq', 'inputs.customer', 4242) }],
  [
    'with a thumb down',
    list,
    { ...latest, ...where('$eq', 'feedback.[wandb.reaction.1].payload.emoji', '👎') },
  ],
  [
    'those that went on in the last hour, counted',
    list,
    { filter: { after_datetime: iso(end - day / 24) }, limit: 1_000 },
  ],
  [
    '50 named ones',
    list,
    { ...first, filter: { thread_ids: Array.from({ length: 50 }, (_, n) => `thread-${n}`) } },
  ],
  ['a conversation of 200 turns: its sums', list, ofLong],
  ['its first 100 turns', '/views/calls', turns],
  [
    'its chat: the newest 20 turns',
    '/agents/conversations/chat',
    { conversation_id: longThread, limit: 20, include_feedback: true },
  ],
  ['its spans', '/agents/conversations/spans', { conversation_ids: [longThread] }],
  ['agents of 30 days', '/agents/query', { ...agents, ...recent }],
  ['agents of all time', '/agents/query', agents],
  [
    'versions of an agent of 30 days',
    '/agents/agent-versions/query',
    { ...agents, ...recent, agent_name: 'agent-3' },
  ],
  [
    'feedback on agents of 30 days',
    '/feedback/aggregate',
    { after_ms: month / 1000, before_ms: end / 1000, group_by: ['span_agent_name'] },
  ],
  [
    'spans of a day by conversation',
    '/agents/spans/query',
    { ...byConversation, started_after: iso(end - day) },
  ],
  [
    'spans of 30 days by conversation',
    '/agents/spans/query',
    { ...byConversation, started_after: iso(month) },
  ],
  [
    'durations of agents of a day by hour',
    '/agents/spans/stats',
    {
      ...{ start: iso(end - day), end: iso(end), granularity: 3_600 },
      group_by: [{ source: 'field', key: 'agent_name' }],
      metrics: [{ alias: 'took', value: duration, aggregations: ['avg'], percentiles: [95] }],
    },
  ],
  [
    'usage and costs of the newest 100 traces',
    '/calls/usage',
    (size) => ({ call_ids: newestRoots(size), include_costs: true }),
  ],
]
