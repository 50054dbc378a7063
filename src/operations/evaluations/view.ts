import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { refuse } from '../../domain/refusals.ts'
import type { ResultsView } from '../../storage/evaluations/evaluation-pages.ts'
import { maxEvaluations, type ResultsBody } from './results-contract.ts'

type Asked = Partial<
  Pick<
    ResultsBody,
    | 'evaluation_call_ids'
    | 'evaluation_run_ids'
    | 'filters'
    | 'sort_by'
    | 'require_intersection'
    | 'include_summary'
    | 'summary_require_intersection'
    | 'limit'
    | 'offset'
  >
>

/** The comparison that a request asks for, checked. */
export function viewOf(project: string, body: Asked, mayRead: ResultsView['mayRead']): ResultsView {
  const intersect = body.require_intersection ?? false
  return {
    project,
    evaluations: evaluationsOf(body),
    filters: (body.filters ?? []).map(({ query, evaluation_call_id }, index) => ({
      query: parseExpressionText(query.text, `filters.${index}.query`),
      evaluation: evaluation_call_id ?? null,
    })),
    sort: (body.sort_by ?? []).map(({ field, direction, evaluation_call_id, mode }) => ({
      field,
      direction: direction ?? 'asc',
      evaluation: evaluation_call_id ?? null,
      mode: mode ?? 'value',
    })),
    intersect,
    sumsIntersect: body.include_summary ? (body.summary_require_intersection ?? intersect) : null,
    limit: body.limit ?? null,
    offset: Math.max(0, body.offset ?? 0),
    mayRead,
  }
}

/** Both lists mean the same; the first occurrence counts. */
function evaluationsOf({ evaluation_call_ids, evaluation_run_ids }: Asked): string[] {
  const ids = [...new Set([...(evaluation_call_ids ?? []), ...(evaluation_run_ids ?? [])])]
  if (ids.length <= maxEvaluations) return ids
  const field =
    (evaluation_call_ids?.length ?? 0) > maxEvaluations ? 'evaluation_call_ids' : 'evaluation_run_ids'
  throw refuse('too_many_ids', { field, received: ids.length, limit: maxEvaluations })
}
