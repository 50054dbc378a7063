import { FilterError } from './filter.ts'

/** What kind of value a field has, other than text. */
type Kind =
  | 'status'
  | 'duration'
  | 'number'
  | 'cost'
  | 'size'
  | 'time'
  | 'age'
  | 'part'
  | 'exact'
  | 'value'
  | 'said'
  | 'any'

export interface Field {
  /** Names of the field in the record; where there are several, any of them may match. */
  names: readonly string[]
  kind: Kind
}

interface Described {
  field: string
  kind: Kind
  name: string
  means: string
}

/** Names in the filter bar of fields that are named otherwise in the record. */
const namedFields: readonly [field: string, kind: Kind, name: string, means: string][] = [
  ['status', 'status', 'summary.weave.status', 'success, error, running or descendant_error'],
  ['op', 'part', 'op_name', 'part of the name of an op; op:="name" for the whole name'],
  ['name', 'part', 'display_name', 'part of the display name'],
  ['model', 'exact', 'model', 'the model that answered or was requested'],
  ['agent', 'exact', 'agent', 'the agent that it names'],
  ['agent_version', 'exact', 'agent_version', 'the version of that agent'],
  ['latency', 'duration', 'summary.weave.latency_ms', 'how long it took: >2s, <300ms'],
  ['first_token', 'duration', 'first_token_ms', 'time to the first token: >500ms'],
  ['tokens_in', 'number', 'input_tokens', 'input tokens: >1000'],
  ['origin', 'exact', 'origin', 'app, judge or evaluation'],
  ['cost', 'cost', 'cost', 'cost in dollars: >0.01'],
  ['tokens_out', 'number', 'output_tokens', 'output tokens'],
  ['started', 'time', 'started_at', 'start time: >2026-01-31, <2026-01-31T12:00'],
  ['ended', 'time', 'ended_at', 'end time'],
  ['age', 'age', 'started_at', 'time since the start: <1h, >7d'],
  ['user', 'exact', 'svc_user_id', 'the user that recorded it'],
  ['exception', 'part', 'exception', 'part of the exception'],
  ['size', 'size', 'storage_size_bytes', 'stored size: >1MB'],
  ['thread', 'exact', 'thread_id', 'the id of a thread'],
  ['trace', 'exact', 'trace_id', 'the id of a trace'],
  ['parent', 'exact', 'parent_id', 'the id of the parent call'],
  ['run', 'exact', 'svc_run_id', 'the id of a run'],
  ['id', 'exact', 'id', 'the id of the call'],
  ['queue', 'exact', 'annotation_queue_items.queue_id', 'the id of a queue that contains it'],
  [
    'feedback',
    'said',
    'feedback.[*].payload',
    'kind of feedback: note, reaction, scores.judge, annotation.correct',
  ],
  ['reaction', 'exact', 'feedback.[wandb.reaction.1].payload.emoji', 'the last reaction: 👍'],
  ['note', 'part', 'feedback.[wandb.note.1].payload.note', 'part of the last note'],
]

export const described: readonly Described[] = namedFields.map(([field, kind, name, means]) => ({
  ...{ field, kind, name, means },
}))

/** Prefixes that a path follows. */
export const openFields: readonly Omit<Described, 'name' | 'kind'>[] = [
  { field: 'inputs.', means: 'a value in the inputs: inputs.question:"refund"' },
  { field: 'output.', means: 'a value in the output' },
  { field: 'attributes.', means: 'a value in the attributes' },
  { field: 'summary.', means: 'a value in the summary' },
  { field: 'scores.', means: 'the result of a scorer: scores.judge:>0.8' },
  { field: 'annotation.', means: 'the answer of a reviewer: annotation.correct:true' },
  { field: 'has:', means: 'has a value: has:exception, has:inputs.user' },
]

const known = new Map(described.map(({ field, kind, name }) => [field, { names: [name], kind }]))
/** The server knows which columns there are, and refuses others. */
const columns = /^[a-z]+(?:_[a-z]+)+$/

/** The field that a name in the filter bar stands for. */
export function fieldOf(field: string): Field {
  const found = known.get(field)
  if (found) return found
  if (/^(?:inputs|output|attributes|summary)(?:\.|$)/.test(field)) return { names: [field], kind: 'value' }
  const score = /^scores\.((?:[^.\\]|\\.)+)(?:\.(.+))?$/.exec(field)
  if (score) {
    const [, name = '', path] = score
    const at = `feedback.[wandb.runnable.${name.replace(/\\(.)/g, '$1')}].payload.output`
    // A score is either a value of its own or has its reason next to it.
    return { names: path === undefined ? [at, `${at}.score`] : [`${at}.${path}`], kind: 'value' }
  }
  const annotation = /^annotation\.(.+)$/.exec(field)
  if (annotation) {
    return { names: [`feedback.[wandb.annotation.${annotation[1]}].payload.value`], kind: 'value' }
  }
  if (/^feedback\./.test(field) || columns.test(field)) {
    return { names: [field], kind: /_at$/.test(field) ? 'time' : 'value' }
  }
  throw new FilterError(
    `Unknown field ${field}. The fields are ${described.map(({ field: name }) => name).join(', ')}, inputs.…, output.…, attributes.…, summary.…, scores.…, annotation.…; put text with a colon in quotation marks.`,
  )
}

const feedbackTypes: Record<string, string> = { note: 'wandb.note.1', reaction: 'wandb.reaction.1' }
const feedbackPrefixes = [
  ['scores.', 'wandb.runnable.'],
  ['annotation.', 'wandb.annotation.'],
] as const

/** The type of feedback that a word of the filter bar names; any other word is itself a type. */
export function feedbackTypeOf(word: string): string {
  const prefix = feedbackPrefixes.find(([short]) => word.startsWith(short) && word.length > short.length)
  if (prefix) return prefix[1] + word.slice(prefix[0].length)
  return feedbackTypes[word] ?? word
}

/** The word of the filter bar for a type of feedback. */
export function feedbackWordOf(type: string): string {
  const prefix = feedbackPrefixes.find(([, long]) => type.startsWith(long) && type.length > long.length)
  if (prefix) return prefix[0] + type.slice(prefix[1].length)
  return Object.keys(feedbackTypes).find((word) => feedbackTypes[word] === type) ?? type
}
