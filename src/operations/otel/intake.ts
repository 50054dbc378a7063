import { inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, hasAccess, hasScope, requireAccess } from '../../domain/callers.ts'
import { projectId } from '../../domain/fields.ts'
import { idOf } from '../../domain/ids.ts'
import { callRef, objectRef } from '../../domain/refs.ts'
import { refuse } from '../../domain/refusals.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import type { CallPart, JoinedPart } from '../../storage/calls/parts.ts'
import type { CompleteCall } from '../calls/contract.ts'
import { endPart, mergeParts, startPart } from '../calls/parts.ts'
import type { Ingest } from '../calls/write.ts'
import { createCheck } from '../feedback/check.ts'
import { feedbackOf } from '../feedback/create.ts'
import { atRoot, prefixes } from '../feedback/kinds.ts'
import { payloadGiven } from '../feedback/payload-size.ts'
import type { CallNames } from '../recording/named-calls.ts'
import type { Evaluation } from './evaluation-events.ts'
import type { ReadRecord } from './logs.ts'
import { projectNames, type ReadResource, type Rejected } from './reading.ts'
import { createReport, type InProject, type PartialSuccess, projectHeader, type Report } from './signals.ts'

/** What taking an export needs besides the record. */
export interface TelemetryIntake extends Ingest {
  schemas: SchemaChecks
  names: CallNames
  refScheme: string
}

/**
 * Stores every span that can become a call, and reports the others. Nothing is written if the caller has no access to
 * one of the projects. A request that is sent again writes the same calls.
 */
export async function takeSpans(
  intake: TelemetryIntake,
  caller: Caller,
  resources: readonly ReadResource[],
  header: string | undefined,
): Promise<PartialSuccess> {
  const report = createReport()
  const spans: CallPart[] = []
  const evaluations: InProject<Evaluation>[] = []
  await inSteps(inProjects(caller, resources, header, 'resourceSpans'), async ({ item, project }) => {
    if ('why' in item) return report.reject(item.why)
    spans.push(await wholePart(intake, caller, project, item.call))
    for (const evaluation of item.evaluations) evaluations.push({ item: evaluation, project })
  })
  await store(intake, caller, await mergeParts(spans), evaluations, report)
  return report.result()
}

/** The same for log records. One may say something of several calls, and of none. */
export async function takeLogs(
  intake: TelemetryIntake,
  caller: Caller,
  resources: readonly ReadResource<ReadRecord>[],
  header: string | undefined,
): Promise<PartialSuccess> {
  const report = createReport()
  const joined: JoinedPart[] = []
  const evaluations: InProject<Evaluation>[] = []
  /** Projects of whose answers something is told. */
  const told = new Set<string>()
  await inSteps(inProjects(caller, resources, header, 'resourceLogs'), async ({ item, project }) => {
    if ('why' in item) return report.reject(item.why)
    if (item.unknown !== undefined) report.count('kept as a call of its own', item.unknown)
    if (item.leftOut !== undefined) report.count('left out', item.leftOut)
    for (const { call, record, ...log } of item.calls) {
      const whole = await wholePart(intake, caller, project, call)
      if (log.request !== undefined) told.add(project)
      joined.push({ ...whole, log: { ...log, record: record.text } })
    }
    for (const evaluation of item.evaluations) evaluations.push({ item: evaluation, project })
  })
  // A client tells of an answer as soon as it has it: joined with it, it counts once.
  for (const project of told) await intake.names.settled(project)
  await store(intake, caller, joined, evaluations, report)
  return report.result()
}

async function store(
  intake: TelemetryIntake,
  caller: Caller,
  joined: readonly JoinedPart[],
  evaluations: readonly InProject<Evaluation>[],
  report: Report,
): Promise<void> {
  if (joined.length > 0) await intake.db.write('joinCalls', joined)
  await storeEvaluations(intake, caller, evaluations, report)
}

/**
 * Judgements as feedback on the calls that they name. The id is made of the content, so that a request that is sent again
 * adds nothing. Who may send calls but not judge them gets them reported.
 */
async function storeEvaluations(
  { db, schemas, names, refScheme }: TelemetryIntake,
  caller: Caller,
  evaluations: readonly InProject<Evaluation>[],
  report: Report,
): Promise<void> {
  const additions: { record: Awaited<ReturnType<typeof feedbackOf>>; field: string }[] = []
  const check = createCheck(db, schemas, caller.name)
  await inSteps(evaluations, async ({ item, project }) => {
    if (!hasAccess(caller, project, 'review') || !hasScope(caller, 'review')) {
      report.count('no feedback without the right review', item.name)
      return
    }
    const { name, call, response, payload, time } = item
    const named = call ?? (response && (await names.call(project, response)))
    if (named === undefined || named === '' || (call === undefined && named === response)) {
      report.count('the judged call is not known', item.name)
      return
    }
    const fields = {
      project_id: project,
      id: idOf(`evaluation ${JSON.stringify([caller.name, named, name, time, payload.text])}`),
      svc_ref: callRef(refScheme, project, named),
      feedback_type: `${prefixes.runnable}.${name}`,
      payload: payloadGiven(payload),
      runnable_ref: objectRef(refScheme, project, 'object', name, '*'),
    }
    additions.push({ record: await feedbackOf(check, caller, fields, atRoot), field: 'id' })
  })
  if (additions.length > 0) await db.write('addFeedback', additions)
}

async function wholePart(
  { projects }: Ingest,
  caller: Caller,
  project: string,
  read: CompleteCall,
): Promise<CallPart> {
  const call = { ...read, project_id: project }
  const intake = { user: caller.name, retentionDays: await projects.retentionDays(project) }
  return { ...startPart(call, intake), end: endPart(call).end }
}

function inProjects<Item>(
  caller: Caller,
  resources: readonly ReadResource<Item>[],
  header: string | undefined,
  field: string,
): InProject<Item | Rejected>[] {
  const fallback = header === undefined ? undefined : checked(header, projectHeader)
  if (fallback !== undefined) requireAccess(caller, fallback, 'project_id')
  return resources.flatMap((resource, index) => {
    const project = resource.isBroken
      ? ''
      : projectOf(resource, `${field}.${index}.resource`, caller, fallback)
    return resource.items.map((item) => ({ item, project }))
  })
}

/**
 * The project that a resource names, or that of the header. Half a name is refused, because the header would hide the
 * mistake.
 */
function projectOf(
  { entity, project, items }: ReadResource<unknown>,
  path: string,
  caller: Caller,
  fallback: string | undefined,
): string {
  if (entity === undefined && project === undefined) {
    if (fallback === undefined && items.length > 0) throw noProject(path, undefined)
    return fallback ?? ''
  }
  if (entity === undefined || project === undefined) throw noProject(path, entity ?? project)
  const named = checked(`${entity}/${project}`, path)
  requireAccess(caller, named, path)
  return named
}

function checked(project: string, field: string): string {
  if (projectId.safeParse(project).success) return project
  throw refuse('invalid_value', {
    field,
    received: JSON.stringify(project.slice(0, 300)),
    accepted: '<entity>/<project>',
  })
}

function noProject(path: string, half: string | undefined) {
  return refuse('invalid_value', {
    field: path,
    received:
      half === undefined ? 'it names no project' : `${JSON.stringify(half.slice(0, 300))} is half a project`,
    accepted: `the resource attributes ${projectNames}, or the header ${projectHeader}: <entity>/<project>`,
  })
}
