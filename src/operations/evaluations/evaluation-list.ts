import { type Caller, requireAccess } from '../../domain/callers.ts'
import { shortened } from '../../domain/described.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import {
  type EvaluationRoot,
  openEvaluations,
  sumTrials,
  type TrialSums,
} from '../../storage/evaluations/evaluation-list.ts'
import { derivePending } from '../../storage/evaluations/results.ts'
import { refsOf } from './summary.ts'
import { defaultListed, type ListAnswer, type ListBody } from './views-contract.ts'

const maxErrorLength = 500

/** The evaluations of a project and their number of trials. */
export async function viewEvaluations(
  db: BoundDatabase,
  caller: Caller,
  { project_id: project, limit, offset }: ListBody,
): Promise<ListAnswer> {
  requireAccess(caller, project)
  const time = now()
  await derivePending(db, project, time)
  const page = { limit: limit ?? defaultListed, offset: offset ?? 0 }
  const evaluations = await openEvaluations(db, project, time)
  const roots = await evaluations.page(page)
  const ids = roots.map(({ id }) => id)
  const sums = new Map((await sumTrials(db, project, ids)).map((sum) => [sum.evaluation_id, sum]))
  return {
    evaluations: roots.map((root) => shown(root, sums.get(root.id))),
    total: await evaluations.count(),
  }
}

function shown(root: EvaluationRoot, sums: TrialSums | undefined): ListAnswer['evaluations'][number] {
  const { ended_at, exception } = root
  return {
    evaluation_call_id: root.id,
    trace_id: root.trace_id,
    display_name: root.display_name,
    ...refsOf(root),
    status: statusOf(root),
    error: exception === null ? null : shortened(exception, maxErrorLength),
    started_at: formatTime(root.started_at),
    ended_at: ended_at === null ? null : formatTime(ended_at),
    row_count: root.row_count,
    trial_count: sums?.trials ?? 0,
    failed_trial_count: sums?.failed ?? 0,
    mean_latency_seconds: sums?.latency ?? null,
    total_tokens: sums?.tokens ?? null,
  }
}

function statusOf({ ended_at, exception, stopped, row_count }: EvaluationRoot) {
  if (ended_at === null) return 'running'
  if (exception !== null) return 'error'
  if (stopped === 'true') return 'stopped'
  return row_count === 0 ? 'no_rows' : 'success'
}
