import { ask } from './answers.ts'
import { batchMaker, project } from './calls.ts'
import type { Contestant } from './contestants.ts'
import type { Prepared } from './load.ts'

const itemsOfQueue = 1000
/** More than a server can process; a round that runs out of items fails. */
const itemsPerSecond = 12_000

const told = (annotation_state: string) => JSON.stringify({ project_id: project, annotation_state })

/**
 * Every write is a step that its item has not taken: a connection takes a free item, begins it and completes it. Items
 * that are left over from a round are used in the next.
 */
export async function itemsOf(server: Contestant): Promise<Prepared> {
  if (server.name === 'bare') {
    const path =
      '/annotation_queues/019a9c1e-0000-7000-8000-000000000001/items/019a9c1e-0000-7000-8000-000000000002/progress'
    const bodies = [told('in_progress'), told('completed')]
    return { requests: bodies.map((body) => ({ path, body })), count: async () => 0 }
  }

  const { body, rows } = batchMaker(itemsOfQueue)()
  await ask(server, '/call/upsert_batch', body)
  const callIds = rows.map(([, id]) => String(id))
  const queueIds: string[] = []
  const waiting: string[] = []

  async function addQueue(): Promise<void> {
    const { queueId, itemIds } = await fillQueue(server, callIds)
    queueIds.push(queueId)
    waiting.push(...itemIds.map((item) => `/annotation_queues/${queueId}/items/${item}/progress`))
  }
  function take(): string {
    const path = waiting.pop()
    if (path === undefined) throw new Error(`${server.name}: there are no items left for this round`)
    return path
  }

  await addQueue()
  return {
    requests: [
      {
        path: '',
        body: told('in_progress'),
        setupRequest(request, context) {
          context.path = take()
          return { ...request, path: String(context.path) }
        },
      },
      {
        path: '',
        body: told('completed'),
        setupRequest: (request, context) => ({ ...request, path: String(context.path) }),
      },
    ],
    async ready(seconds) {
      while (waiting.length < seconds * itemsPerSecond) await addQueue()
    },
    async count() {
      const { stats } = await ask<{ stats: { by_state: { in_progress: number; completed: number } }[] }>(
        server,
        '/annotation_queues/stats',
        { project_id: project, queue_ids: queueIds },
      )
      return stats.reduce((sum, { by_state }) => sum + by_state.in_progress + 2 * by_state.completed, 0)
    },
  }
}

async function fillQueue(server: Contestant, call_ids: readonly string[]) {
  const { id: queueId } = await ask<{ id: string }>(server, '/annotation_queues', {
    project_id: project,
    name: 'To be looked at',
    scorer_refs: [],
  })
  await ask(server, `/annotation_queues/${queueId}/items`, { project_id: project, call_ids })
  const { items } = await ask<{ items: { id: string }[] }>(
    server,
    `/annotation_queues/${queueId}/items/query`,
    {
      project_id: project,
    },
  )
  if (items.length !== call_ids.length) throw new Error(`${items.length} items of ${call_ids.length} calls`)
  return { queueId, itemIds: items.map(({ id }) => id) }
}

/** The answer of a server to such a request, as JSON. */
export async function progressAnswer(server: Contestant, callId: string): Promise<string> {
  const { queueId, itemIds } = await fillQueue(server, [callId])
  const path = `/annotation_queues/${queueId}/items/${itemIds[0]}/progress`
  return JSON.stringify(await ask(server, path, told('in_progress')))
}
