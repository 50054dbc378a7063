import { type Expression, queryOf, readDuration, readFilter } from '../../../packages/filter/index.ts'
import { formatTime, now, parseTime } from '../../domain/time.ts'
import { ToolError } from './asking.ts'

interface Selected {
  project: string
  filter?: string | undefined
  since?: string | undefined
  until?: string | undefined
  roots_only?: boolean | undefined
}

export const fieldIs = (name: string, value: unknown): Expression => ({
  $eq: [{ $getField: name }, { $literal: value }],
})

/** The calls that a tool is about, as the routes of the record take them. */
export function selectionOf(selected: Selected, ...further: Expression[]) {
  const { project, filter = '', since, until, roots_only } = selected
  const started = (operator: string, name: string, text: string) => ({
    [operator]: [{ $getField: 'started_at' }, { $literal: timeOf(name, text) }],
  })
  const query = queryOf(readFilter(filter))
  const conditions = [
    ...(query ? [query] : []),
    ...(since === undefined ? [] : [started('$gte', 'since', since)]),
    ...(until === undefined ? [] : [started('$lt', 'until', until)]),
    ...further,
  ]
  return {
    project_id: project,
    filter: { trace_roots_only: roots_only ?? false },
    ...(conditions.length > 0 && { query: { $expr: { $and: conditions } } }),
  }
}

/** An age such as `24h` counts back from now. */
export function timeOf(name: string, text: string): string {
  const time = parseTime(text)
  if (time !== undefined) return formatTime(time)
  try {
    return formatTime(now() - readDuration(text) * 1_000)
  } catch {
    throw new ToolError(`${name}: given ${JSON.stringify(text)}; accepted: 30m, 24h, 7d or 2026-01-31T12:00Z`)
  }
}
