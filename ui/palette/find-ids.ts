import { paths } from '../routes.ts'
import { countCalls, newestFirst, readCalls, shortOp } from '../server/calls.ts'
import { readVersions } from '../server/objects.ts'
import { readItemOf, readQueues } from '../server/queues.ts'
import { requestJson } from '../server/request.ts'
import { parseRef } from '../value/ref.ts'
import type { Named } from './names.ts'

/** Projects in which an id is looked up at most, and queues in which an item is. */
const mostProjects = 20
const mostQueues = 50

/** Versions of objects, the newest, in which a digest is looked up at most. */
const mostVersions = 1_000

/** What these ids name, in the first project that knows one. `projects` are asked in their order. */
export async function findIds(
  ids: readonly string[],
  projects: readonly string[],
  signal: AbortSignal,
): Promise<Named[]> {
  if (ids.length === 0) return []
  for (const project of projects.slice(0, mostProjects)) {
    const found = await Promise.all(ids.map((id) => findId(project, id, signal)))
    if (found.some((some) => some.length > 0)) return found.flat()
  }
  return []
}

async function findId(project: string, id: string, signal: AbortSignal): Promise<Named[]> {
  const kinds =
    id.length === 43 ? [byDigest] : id.length === 36 ? [call, trace, reviewed, feedback] : [call, trace]
  return (await Promise.all(kinds.map((find) => find(project, id, signal)))).flat()
}

async function call(project: string, id: string, signal: AbortSignal): Promise<Named[]> {
  const found = await readCalls({ project }, [id], signal)
  return found.map(({ op_name, display_name }) => ({
    text: `Call ${id}`,
    hint: `${display_name ?? shortOp(op_name)}, ${project}`,
    path: paths.call(project, id),
  }))
}

async function trace(project: string, id: string, signal: AbortSignal): Promise<Named[]> {
  const $eq = [{ $getField: 'trace_id' }, { $literal: id }]
  const count = await countCalls({ project, roots: false, query: { $eq }, sort: newestFirst }, {}, signal)
  if (count === 0) return []
  const hint = `${count} ${count === 1 ? 'call' : 'calls'}, ${project}`
  return [{ text: `Trace ${id}`, hint, path: paths.trace(project, id) }]
}

/** A queue, or an item of one. */
async function reviewed(project: string, id: string, signal: AbortSignal): Promise<Named[]> {
  const queues = await readQueues(project, signal)
  const queue = queues.find((one) => one.id === id)
  if (queue) return [{ text: `Queue ${queue.name}`, hint: project, path: paths.queue(project, id) }]
  for (const { id: of, name } of queues.slice(0, mostQueues)) {
    const item = await readItemOf(project, of, id, signal)
    if (item === undefined) continue
    const hint = `item of ${name}, ${project}`
    return [{ text: `Review ${shortOp(item.call_op_name)}`, hint, path: paths.review(project, of, id) }]
  }
  return []
}

async function feedback(project: string, id: string, signal: AbortSignal): Promise<Named[]> {
  const body = {
    project_id: project,
    query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } },
    fields: ['id', 'weave_ref', 'feedback_type'],
  }
  const { result } = await requestJson<{ result: { weave_ref: string; feedback_type: string }[] }>(
    '/feedback/query',
    { body, signal },
  )
  return result.flatMap(({ weave_ref, feedback_type }) => {
    const of = parseRef(weave_ref)
    if (of === undefined) return []
    const path =
      of.kind === 'call' ? paths.call(of.project, of.name) : paths.object(of.project, of.name, of.version)
    return [{ text: `Feedback on ${of.kind} ${of.name}`, hint: `${feedback_type}, ${project}`, path }]
  })
}

async function byDigest(project: string, digest: string, signal: AbortSignal): Promise<Named[]> {
  const versions = await readVersions({ project, limit: mostVersions }, signal)
  return versions
    .filter((version) => version.digest === digest)
    .map(({ object_id, version_index }) => ({
      text: `Object ${object_id}`,
      hint: `v${version_index}, ${project}`,
      path: paths.object(project, object_id, digest),
    }))
}
