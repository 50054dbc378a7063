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
export const described: readonly Described[] = [
  {
    field: 'status',
    kind: 'status',
    name: 'summary.weave.status',
    means: 'success, error, running or descendant_error',
  },
  {
    field: 'op',
    kind: 'part',
    name: 'op_name',
    means: 'part of the name of an op; op:="name" for the whole name',
  },
  { field: 'name', kind: 'part', name: 'display_name', means: 'part of the display name' },
  { field: 'model', kind: 'exact', name: 'model', means: 'the model that answered or was requested' },
  { field: 'agent', kind: 'exact', name: 'agent', means: 'the agent that it names' },
  { field: 'agent_version', kind: 'exact', name: 'agent_version', means: 'the version of that agent' },
  {
    field: 'latency',
    kind: 'duration',
    name: 'summary.weave.latency_ms',
    means: 'how long it took: >2s, <300ms',
  },
  {
    field: 'first_token',
    kind: 'duration',
    name: 'first_token_ms',
    means: 'time to the first token: >500ms',
  },
  { field: 'tokens_in', kind: 'number', name: 'input_tokens', means: 'input tokens: >1000' },
  { field: 'origin', kind: 'exact', name: 'origin', means: 'app, judge or evaluation' },
  { field: 'cost', kind: 'cost', name: 'cost', means: 'cost in dollars: >0.01' },
  { field: 'tokens_out', kind: 'number', name: 'output_tokens', means: 'output tokens' },
  {
    field: 'started',
    kind: 'time',
    name: 'started_at',
    means: 'start time: >2026-01-31, <2026-01-31T12:00',
  },
  { field: 'ended', kind: 'time', name: 'ended_at', means: 'end time' },
  { field: 'age', kind: 'age', name: 'started_at', means: 'time since the start: <1h, >7d' },
  { field: 'user', kind: 'exact', name: 'svc_user_id', means: 'the user that recorded it' },
  { field: 'exception', kind: 'part', name: 'exception', means: 'part of the exception' },
  { field: 'size', kind: 'size', name: 'storage_size_bytes', means: 'stored size: >1MB' },
  { field: 'thread', kind: 'exact', name: 'thread_id', means: 'the id of a thread' },
  { field: 'trace', kind: 'exact', name: 'trace_id', means: 'the id of a trace' },
  { field: 'parent', kind: 'exact', name: 'parent_id', means: 'the id of the parent call' },
  { field: 'run', kind: 'exact', name: 'svc_run_id', means: 'the id of a run' },
  { field: 'id', kind: 'exact', name: 'id', means: 'the id of the call' },
  {
    field: 'queue',
    kind: 'exact',
    name: 'annotation_queue_items.queue_id',
    means: 'the id of a queue that contains it',
  },
  {
    field: 'feedback',
    kind: 'said',
    name: 'feedback.[*].payload',
    means: 'kind of feedback: note, reaction, scores.judge, annotation.correct',
  },
  {
    field: 'reaction',
    kind: 'exact',
    name: 'feedback.[wandb.reaction.1].payload.emoji',
    means: 'the last reaction: 👍',
  },
  {
    field: 'note',
    kind: 'part',
    name: 'feedback.[wandb.note.1].payload.note',
    means: 'part of the last note',
  },
]

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
