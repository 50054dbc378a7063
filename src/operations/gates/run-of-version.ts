import { parseRef } from '../../domain/refs.ts'
import { wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { type CallRow, readCall } from '../../storage/calls/calls.ts'
import type { Database } from '../../storage/database.ts'
import { findMarked } from '../../storage/evaluations/marked-calls.ts'
import { readObject, readVersion } from '../../storage/objects/objects.ts'
import { Value } from '../objects/values.ts'
import { proposalsOf } from '../proposals/contract.ts'
import type { Gate } from './contract.ts'

/** A version of a prompt, or of another object. */
interface Version {
  project: string
  name: string
  digest: string
}

const dayInMicroseconds = 86_400_000_000

/** A run that has ended, of the evaluation of the gate, and with this version. Others are refused by name. */
export async function checkRun(
  db: Database,
  field: string,
  id: string | null | undefined,
  gate: Gate,
  version: Version,
): Promise<string> {
  const shown = id == null ? 'nothing' : JSON.stringify(id)
  const accepted = `the id of a finished run of ${gate.evaluation} with the version ${version.digest}`
  const refused = (why: string) => wrong(field, `${shown}${why}`, accepted)
  if (id == null) throw refused('')
  const run = await rootOf(db, version.project, id)
  if (run === undefined) throw refused(', which is no run here')
  const inputs = new Value(run.inputs ?? '{}')
  const evaluation = inputs.member('self')?.string ?? inputs.member('this')?.string ?? ''
  if (!(await isSame(db, evaluation, gate.evaluation))) throw refused(', which is of another evaluation')
  if (run.ended_at === null) throw refused(', which has not ended')
  const isStopped = new Value(run.summary ?? '{}').member('stopped')?.text === 'true'
  if (run.exception !== null || isStopped) throw refused(', which did not come to its end')
  if (gate.max_age_days !== undefined && run.ended_at < now() - gate.max_age_days * dayInMicroseconds) {
    throw refused(`, which ended more than ${gate.max_age_days} days ago`)
  }
  if (!(await isWith(db, inputs.member('model')?.string ?? '', version)))
    throw refused(', which is with another version')
  return id
}

/** The root of an evaluation, recorded by a client or by the routes of runs. */
async function rootOf(db: Database, project: string, id: string): Promise<RunRoot | undefined> {
  const marked = await findMarked(db, 'run', project, id, now())
  if (marked !== undefined) return marked
  const call = await readCall(db, project, id, false, now())
  return call?.op_name?.includes('Evaluation.evaluate') ? call : undefined
}

type RunRoot = Pick<CallRow, 'ended_at' | 'exception'> & { inputs: string | null; summary: string | null }

/** Whether two references lead to the same version. */
async function isSame(db: Database, own: string, wanted: string): Promise<boolean> {
  if (own === wanted) return true
  const [first, second] = [await versionAt(db, own), await versionAt(db, wanted)]
  return (
    first !== undefined &&
    second !== undefined &&
    first.project === second.project &&
    first.name === second.name &&
    first.digest === second.digest
  )
}

async function versionAt(db: Database, text: string): Promise<Version | undefined> {
  const ref = parseRef(text)
  if (ref?.kind !== 'object') return undefined
  const found = await readVersion(db, ref.project, ref)
  return found && { project: ref.project, name: ref.name, digest: found.digest }
}

/** Whether a model is the version itself, or asks with it, as the models of the server's own runs do. */
async function isWith(db: Database, model: string, { project, name, digest }: Version): Promise<boolean> {
  const ref = parseRef(model)
  if (ref?.kind !== 'object' || ref.project !== project) return false
  const found = await readObject(db, project, ref)
  if (found === undefined) return false
  if (ref.name === name) return found.digest === digest
  const prompt = new Value(found.val ?? 'null').member('attributes')?.member('request')?.member('prompt')
  // A proposal has the digest of the version with the same value.
  const id = prompt?.member('id')?.string
  return (id === name || id === proposalsOf(name)) && prompt?.member('version')?.string === digest
}
