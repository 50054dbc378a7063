import { type Caller, requireAccess } from '../../domain/callers.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import {
  countEvaluations,
  type EvaluationRoot,
  listEvaluations,
  sumTrials,
  type TrialSums,
} from '../../storage/evaluations/evaluation-list.ts'
import { derivePending } from '../../storage/evaluations/results.ts'
import { refsOf } from './summary.ts'
import { defaultListed, type ListAnswer, type ListBody } from './views-contract.ts'

/** The evaluations of a project and their number of trials. */
export async function viewEvaluations(
  db: Database,
  caller: Caller,
  { project_id: project, limit, offset }: ListBody,
  signal: AbortSignal,
): Promise<ListAnswer> {
  requireAccess(caller, project)
  const time = now()
  await derivePending(db, project, time, signal)
  const page = { limit: limit ?? defaultListed, offset: offset ?? 0 }
  const roots = await listEvaluations(db, project, page, time, signal)
  const ids = roots.map(({ id }) => id)
  const sums = new Map((await sumTrials(db, project, ids, signal)).map((sum) => [sum.evaluation_id, sum]))
  return {
    evaluations: roots.map((root) => shown(root, sums.get(root.id))),
    total: await countEvaluations(db, project, time, signal),
  }
}

function shown(root: EvaluationRoot, sums: TrialSums | undefined): ListAnswer['evaluations'][number] {
  const { ended_at, exception } = root
  return {
    evaluation_call_id: root.id,
    trace_id: root.trace_id,
    display_name: root.display_name,
    ...refsOf(root),
    status: ended_at === null ? 'running' : exception === null ? 'success' : 'error',
    started_at: formatTime(root.started_at),
    ended_at: ended_at === null ? null : formatTime(ended_at),
    row_count: root.row_count,
    trial_count: sums?.trials ?? 0,
    failed_trial_count: sums?.failed ?? 0,
    mean_latency_seconds: sums?.latency ?? null,
    total_tokens: sums?.tokens ?? null,
  }
}
