import { ask, countCalls } from './answers.ts'
import { project, startBody } from './calls.ts'
import type { Contestant, Name } from './contestants.ts'
import { annotation, feedback } from './feedback.ts'
import type { Prepared } from './load.ts'
import { itemsOf } from './progress.ts'
import { alternate, type Lane, type Plan, type Series } from './rounds.ts'

/** A request that is answered when the write is on the disk. */
export interface WriteKind {
  name: string
  route: string
  servers: readonly Name[]
  prepare(server: Contestant): Promise<Prepared>
}

const recorders: readonly Name[] = ['heddle', 'one by one']

export const writeKinds: readonly WriteKind[] = [
  {
    name: 'call/start',
    route: 'POST /call/start',
    servers: [...recorders, 'inline', 'bare'],
    prepare: async (server) => ({
      requests: [{ path: '/call/start', body: startBody }],
      count: () => countCalls(server),
    }),
  },
  {
    name: 'feedback/create',
    route: 'POST /feedback/create, a kind of our own',
    servers: [...recorders, 'bare'],
    prepare: async (server) => ({
      requests: [{ path: '/feedback/create', body: feedback }],
      count: () => countFeedback(server),
    }),
  },
  {
    name: 'feedback/create, annotation',
    route: 'POST /feedback/create, an annotation that is checked against its spec',
    servers: recorders,
    prepare: async (server) => ({
      requests: [{ path: '/feedback/create', body: await annotation(server) }],
      count: () => countFeedback(server),
    }),
  },
  {
    name: 'progress',
    route: 'POST /annotation_queues/{queue_id}/items/{item_id}/progress, in_progress and then completed',
    servers: [...recorders, 'bare'],
    prepare: async (server) => itemsOf(server),
  },
]

async function countFeedback(server: Contestant): Promise<number> {
  const body = { project_id: project, limit: 0 }
  return (await ask<{ total_count: number }>(server, '/feedback/query', body)).total_count
}

export interface Written {
  kind: string
  route: string
  series: Series[]
  /** The largest body of a request, in bytes. */
  bytes: number
  checks: { name: Name; acknowledged: number; stored: number }[]
}

/** Fails if a server has not stored as many new writes as it has acknowledged. */
export async function measureWrites(
  kind: WriteKind,
  servers: readonly Contestant[],
  plan: Plan,
): Promise<Written> {
  const entries = await Promise.all(
    servers
      .filter(({ name }) => kind.servers.includes(name))
      .map(async (contestant) => {
        const { requests, ready, count } = await kind.prepare(contestant)
        const lane: Lane = { contestant, requests, ...(ready && { ready }) }
        const before = contestant.name === 'bare' ? 0 : await count()
        return { lane, count, before, acknowledged: 0 }
      }),
  )
  const series = await alternate(
    entries.map(({ lane }) => lane),
    plan,
    (lane, writes) => {
      for (const entry of entries) if (entry.lane === lane) entry.acknowledged += writes
    },
  )
  const checks: Written['checks'] = []
  for (const { lane, count, before, acknowledged } of entries) {
    const { name } = lane.contestant
    if (name === 'bare') continue
    const stored = (await count()) - before
    if (acknowledged !== stored)
      throw new Error(`${name}, ${kind.name}: ${acknowledged} acknowledged, ${stored} stored`)
    checks.push({ name, acknowledged, stored })
  }
  const bodies = entries.flatMap(({ lane }) => lane.requests.map(({ body }) => Buffer.byteLength(body)))
  return { kind: kind.name, route: kind.route, series, bytes: Math.max(...bodies), checks }
}
