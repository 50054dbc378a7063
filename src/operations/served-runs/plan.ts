import { itemsOf, membersOf } from '../../../packages/json/index.ts'
import { isPresent, valueAt } from '../../domain/expressions/json-value.ts'
import { splitPath } from '../../domain/expressions/path.ts'
import { wrong } from '../../domain/refusals.ts'
import type { TrialPlace } from '../../storage/evaluations/trial-calls.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { Value } from '../objects/values.ts'
import { parseTemplate } from '../scorers/template.ts'

/** What is asked about the rows of a table, and which scorers score the answers. */
export interface Plan {
  /** References to the evaluation and to what answers. */
  evaluation: string
  model: string
  /** The digest of the rows. */
  table: string
  rows: number
  prompt: string | null
  system: string | null
  /** Fields of a chat completion, as JSON. */
  request: string
  scorers: MonitorScorer[]
  /** Trials at the same time. */
  concurrency?: number
  /** How often its failed rows are asked again by now. */
  retries?: number
}

/** The trials of another run are scored by other scorers. The model is not asked again. */
export interface RescoringPlan {
  /** The run whose trials they are. */
  source: string
  /** The last of its trials that was scored. */
  after: TrialPlace | null
  /** A reference to what has answered. */
  model: string
  scorers: MonitorScorer[]
}

/** Calls that are scored, whatever made them. */
export interface CallsPlan {
  calls: string[]
  scorers: MonitorScorer[]
}

/** The members of a chat completion about a row, as JSON; or why there is none. */
export function requestOf(
  { prompt, system, request }: Pick<Plan, 'prompt' | 'system' | 'request'>,
  row: string,
): Map<string, string> | { why: string } {
  const messages = prompt === null ? ownMessages(row) : promptedMessages(prompt, row)
  if ('why' in messages) return messages
  const first = new Value(messages[0] ?? '').member('role')?.string
  const rest = system !== null && first === 'system' ? messages.slice(1) : messages
  const all = system === null ? rest : [JSON.stringify({ role: 'system', content: system }), ...rest]
  return new Map(membersOf(request)).set('messages', `[${all.join(',')}]`)
}

function ownMessages(row: string): string[] | { why: string } {
  const messages = membersOf(row).get('messages')
  const found = messages?.startsWith('[') ? itemsOf(messages) : []
  return found.length > 0 ? found : { why: 'the row has no conversation at messages' }
}

function promptedMessages(prompt: string, row: string): string[] | { why: string } {
  const template = parseTemplate(prompt)
  if ('why' in template) return template
  let content = ''
  for (const segment of template.segments) {
    if ('text' in segment) {
      content += segment.text
      continue
    }
    const value = valueAt(row, splitPath(segment.field))
    if (!isPresent(value)) return { why: `the row has no value at ${segment.field}` }
    content += value.startsWith('"') ? (JSON.parse(value) as string) : value
  }
  return [JSON.stringify({ role: 'user', content })]
}

const ownFields = ['messages', 'n', 'stream']

/** Refuses fields that each trial decides by itself. */
export function checkOwnFields(request: string, field: string): void {
  const taken = ownFields.find((name) => membersOf(request).has(name))
  if (taken === undefined) return
  const accepted = 'none: each trial is one answer to the messages of its row'
  throw wrong(`${field}.${taken}`, 'a value', accepted)
}
