import { isPresent, valueAt } from '../expressions/json-value.ts'

/** What is read of a call that belongs to an evaluation. Times are microseconds, JSON is text. */
export interface EvaluationCall {
  id: string
  parent_id: string | null
  op_name: string
  started_at: number
  ended_at: number | null
  exception: string | null
  expire_at: number | null
  attributes: string | null
  inputs: string | null
  output: string | null
  summary: string | null
}

export function inputOf({ inputs }: EvaluationCall, name: string): string | undefined {
  if (!inputs?.includes(`"${name}"`)) return undefined
  const value = valueAt(inputs, [name])
  return isPresent(value) ? value : undefined
}
