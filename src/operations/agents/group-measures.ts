import { parseExpressionText } from '../../domain/expressions/parse.ts'
import type { GroupBounds, GroupMeasure } from '../../storage/agents/span-groups.ts'
import { tooMany } from '../totals/call-usage.ts'
import { type GroupFilter, type Measure, spanValueOf } from './value-contract.ts'

type Refs = readonly { key: string; source?: string | null | undefined }[]

/** Validates nothing of the fields, which the statement does. */
export const measureOf = (
  { alias, aggregation, value, filter }: Measure,
  requestPath: string,
): GroupMeasure => ({
  ...{ alias, aggregation, requestPath },
  value: value == null ? undefined : spanValueOf(value),
  filter: filter == null ? undefined : parseExpressionText(filter.text),
})

export function boundsOf(filters: readonly GroupFilter[] | null | undefined, refs: Refs): GroupBounds[] {
  return (filters ?? []).map(({ group_by, measure, min, max }, index) => {
    const path = `group_filters.${index}`
    if (group_by?.length && namesOf(group_by) !== namesOf(refs)) {
      throw tooMany(`${path}.group_by`, namesOf(group_by), `none, or ${namesOf(refs)}`)
    }
    return {
      measure: measureOf(measure, `${path}.measure`),
      ...{ min: min ?? undefined, max: max ?? undefined },
    }
  })
}

const namesOf = (refs: Refs) =>
  JSON.stringify(
    refs.map(({ key, source }) => (spanValueOf({ key, source }).isAttribute ? { attribute: key } : key)),
  )
