import { paths } from '../routes.ts'
import { readEvaluations } from '../server/evaluations.ts'
import { readMonitors } from '../server/monitors.ts'
import { readVersions } from '../server/objects.ts'
import { readUsers } from '../server/people.ts'
import { readQueues } from '../server/queues.ts'
import { may } from '../server/rights.ts'
import { currentUser } from '../server/session.ts'
import { classText } from '../value/ref.ts'
import type { Named } from './names.ts'

/** Objects that are found by their names: the newest. */
const maxObjects = 500
const maxRuns = 100

/** What people name in a project: datasets and other objects, queues, runs, monitors; and for admins the users. */
export async function findNames(project: string | undefined, signal: AbortSignal): Promise<Named[]> {
  const found = await Promise.allSettled([
    ...(project === undefined
      ? []
      : [
          queues(project, signal),
          ...(may('read', project)
            ? [objects(project, signal), runs(project, signal), monitors(project, signal)]
            : []),
        ]),
    ...(currentUser.value?.role === 'admin' ? [users(signal)] : []),
  ])
  return found.flatMap((all) => (all.status === 'fulfilled' ? all.value : []))
}

async function objects(project: string, signal: AbortSignal): Promise<Named[]> {
  const versions = await readVersions({ project, latestOnly: true, isOp: false, limit: maxObjects }, signal)
  return versions.map(({ object_id, base_object_class }) => ({
    text: object_id,
    hint: classText(base_object_class ?? 'object').toLowerCase(),
    path:
      base_object_class === 'Prompt' ? paths.prompts(project, object_id) : paths.object(project, object_id),
  }))
}

async function queues(project: string, signal: AbortSignal): Promise<Named[]> {
  return (await readQueues(project, signal)).map(({ id, name }) => ({
    text: name,
    hint: 'queue',
    path: paths.queue(project, id),
  }))
}

async function runs(project: string, signal: AbortSignal): Promise<Named[]> {
  const { evaluations } = await readEvaluations(project, { offset: 0, limit: maxRuns }, signal)
  return evaluations.map(({ evaluation_call_id: id, display_name }) => ({
    text: display_name ?? id,
    hint: 'evaluation run',
    path: paths.compare(project, { ids: id }),
  }))
}

async function monitors(project: string, signal: AbortSignal): Promise<Named[]> {
  return (await readMonitors(project, signal)).map(({ id, name }) => ({
    ...{ text: name, hint: 'monitor' },
    path: paths.monitor(project, id),
  }))
}

async function users(signal: AbortSignal): Promise<Named[]> {
  return (await readUsers(signal)).map(({ name }) => ({ text: name, hint: 'user', path: paths.people }))
}
