import { membersOf, objectText } from '../../../packages/json/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { parseRef } from '../../domain/refs.ts'
import { Refusal, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { requireMarked } from '../../storage/evaluations/marked-calls.ts'
import { readObject, readVersion } from '../../storage/objects/objects.ts'
import { objectDeleted, objectNotFound } from '../objects/resolve.ts'
import { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { StartBody } from '../served-runs/contract.ts'
import { splitIn } from '../served-runs/rows.ts'
import { checkStart } from '../served-runs/start.ts'
import { proposalsOf } from './contract.ts'

/** A run of the server with a version of a prompt. */
export interface RunOfPrompt {
  /** The object that has the version: the prompt, or that of its proposals. */
  name: string
  digest: string
  /** Fields of a chat completion, as JSON. */
  request: string
  /** Of scorers, by their names. */
  directions: ReadonlyMap<string, string>
  /** What starts the same run with other versions of `prompt`, each under a name. */
  again(versions: readonly { name: string; id: string; digest: string }[]): StartBody
}

/** Refuses a run of something else, one that has not come to its end, and one that cannot be started again. */
export async function runOfPrompt(
  services: OperationParts,
  scope: Scope,
  { name, run: id }: { name: string; run: string },
  signal: AbortSignal,
): Promise<RunOfPrompt> {
  const { db } = services
  const { project } = scope
  await checkPrompt(db, project, name)
  const run = await requireMarked(db, 'run', project, id, 'run', now())
  const accepted = `a finished run that the server carried out with the prompt ${JSON.stringify(name)}`
  const refused = (why: string) => wrong('run', `${JSON.stringify(id)}, which ${why}`, accepted)
  if (run.ended_at === null) throw refused('has not ended')
  if (run.exception !== null) throw refused('has failed')
  const attributes = new Value(run.attributes)
  const bindings = attributes.member('heddle')?.member('served_run')?.member('scorers')
  if (bindings === undefined) throw refused('the server did not carry out')
  const weave = attributes.member('weave')
  const plan = (await valueBehind(db, project, weave?.member('model')?.string))?.member('attributes')
  const request = plan?.member('request')
  const prompt = request?.member('prompt')
  const [own, digest] = [prompt?.member('id')?.string, prompt?.member('version')?.string]
  if ((own !== name && own !== proposalsOf(name)) || digest === undefined)
    throw refused('was with something else')
  const evaluation = await valueBehind(db, project, weave?.member('evaluation')?.string)
  if (evaluation === undefined) throw refused('is of an evaluation that is gone')
  const fields = membersOf(request?.text ?? '{}')
  const read = (versions: readonly { name: string; id: string; digest: string }[]) =>
    StartBody.safeParse({
      ...{ name: evaluation.member('name')?.string, dataset: evaluation.member('dataset')?.string },
      repeats: Number(evaluation.member('trials')?.text ?? '1'),
      split: splitIn(evaluation),
      scorers: JSON.parse(bindings.text) as unknown,
      prompt: plan?.member('prompt')?.string,
      settings: versions.map((version) => ({
        ...{ name: version.name, system: plan?.member('system')?.string },
        request: requestWith(fields, version),
      })),
    })
  const again: RunOfPrompt['again'] = (versions) => {
    const body = read(versions)
    if (!body.success) throw refused('cannot be started again')
    return body.data
  }
  try {
    await checkStart(services, scope, again([{ name: 'again', id: own, digest }]), signal)
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error
    throw refused(`cannot be started again: ${error.message}`)
  }
  const scorers = (JSON.parse(evaluation.member('scorers')?.text ?? '[]') as unknown[]).map(String)
  const directions = await directionsOf(db, project, scorers)
  return { name: own, digest, request: request?.text ?? '{}', directions, again }
}

async function checkPrompt(db: Database, project: string, name: string): Promise<void> {
  const latest = { name, digest: 'latest' }
  const found = await readVersion(db, project, latest)
  if (found === undefined) throw objectNotFound('path.object_id', project, latest)
  if (found.deleted_at !== null) throw objectDeleted('path.object_id', project, latest, found.deleted_at)
}

/** Undefined if the reference leads to nothing in the project. */
async function valueBehind(
  db: Database,
  project: string,
  text: string | undefined,
): Promise<Value | undefined> {
  const ref = text === undefined ? undefined : parseRef(text)
  if (ref?.kind !== 'object' || ref.project !== project) return undefined
  const val = (await readObject(db, project, ref))?.val
  return val == null ? undefined : new Value(val)
}

function requestWith(fields: ReadonlyMap<string, string>, version: { id: string; digest: string }): JsonText {
  const prompt = JSON.stringify({ id: version.id, version: version.digest })
  return new JsonText(objectText(new Map(fields).set('prompt', prompt)))
}

async function directionsOf(db: Database, project: string, scorers: readonly string[]) {
  const directions = new Map<string, string>()
  for (const text of scorers) {
    const ref = parseRef(text)
    const direction = (await valueBehind(db, project, text))?.member('direction')?.string
    if (ref?.kind === 'object' && direction !== undefined) directions.set(ref.name, direction)
  }
  return directions
}
