import type { EndFacts, StartFacts } from '../../domain/call-facts/facts.ts'
import { type ColumnType, kindOf as kindOfType, type ValueOf } from '../sql/columns.ts'

export type Half = 'start' | 'end'

interface CallColumn {
  type: ColumnType
  /** The half of a call that it is written with. */
  half?: Half
  /** It is derived from that part, by domain/call-facts. */
  isFact?: true
  /** Where it is read from, if not from the column of this name. */
  sql?: string
  /** Its name in requests and answers, if that is another. */
  name?: string
  /** Its name in requests and answers begins with svc_, or with wb_ as published clients write it. */
  isWandb?: true
  /** What it says to clients. All of these but JSON can be queried, and all but facts are in the record of a call. */
  about?: string
  /** The record has it only if the request asks for it. */
  isAsked?: true
  /** It may be large, although it is no JSON. */
  isLong?: true
}

/** None of them is forgotten. */
type Facts = Record<keyof StartFacts, CallColumn & { half: 'start'; isFact: true }> &
  Record<keyof EndFacts, CallColumn & { half: 'end'; isFact: true }>

/**
 * The columns of calls, in the order of the record. What is written, read, accepted, exported and documented of a call
 * is derived from here.
 */
const callColumns = {
  id: { type: 'text', about: 'A UUID, or 16 hexadecimal digits of an OpenTelemetry span.' },
  project_id: { type: 'text', about: 'The project, as <entity>/<project>.' },
  op_name: { type: 'text', half: 'start', about: 'What was called: a name, or an op reference.' },
  display_name: {
    type: 'text?',
    // A name set by a rename takes precedence over the one in the start or the end.
    sql: "nullif(coalesce(renamed, display_name), '')",
    about: 'A name for people; null if none was given.',
  },
  trace_id: { type: 'text', half: 'start', about: 'The same for all calls of a trace.' },
  parent_id: { type: 'text?', half: 'start', about: 'The call that made it; null for the root of a trace.' },
  thread_id: { type: 'text?', half: 'start', about: 'The conversation that the call belongs to.' },
  turn_id: { type: 'text?', half: 'start', about: 'The turn of that conversation.' },
  started_at: { type: 'time', half: 'start', about: 'When it started, in UTC.' },
  ended_at: { type: 'time', half: 'end', about: 'When it ended; null while it runs.' },
  exception: {
    type: 'text?',
    half: 'end',
    isLong: true,
    about: 'The error that ended it; null if none did.',
  },
  attributes: { type: 'json', half: 'start', about: 'What its client noted about it.' },
  inputs: { type: 'json', half: 'start', about: 'Its arguments, by name.' },
  output: { type: 'json?', half: 'end', about: 'What it returned: any value, null while it runs.' },
  summary: {
    type: 'json',
    half: 'end',
    about: 'What its client sent, such as `usage`; the server fills in `weave`.',
  },
  user_id: { type: 'text?', half: 'start', isWandb: true, about: 'The user whose key sent it.' },
  run_id: { type: 'text?', half: 'start', isWandb: true, about: 'The run of W&B that it belongs to.' },
  run_step: { type: 'number?', half: 'start', isWandb: true, about: 'The step of that run when it started.' },
  run_step_end: { type: 'number?', half: 'end', isWandb: true, about: 'The step of that run when it ended.' },
  expire_at: { type: 'time?', half: 'start', about: 'When it expires; null if it is kept.' },
  storage_size: {
    type: 'number',
    sql: '(start_bytes + end_bytes)',
    name: 'storage_size_bytes',
    isAsked: true,
    about: 'Its stored size; null unless asked for.',
  },
  start_bytes: { type: 'number', half: 'start' },
  end_bytes: { type: 'number', half: 'end' },
  op: { type: 'text?', half: 'start', isFact: true, about: 'the name without its version' },
  asked_model: { type: 'text?', half: 'start', isFact: true },
  input_preview: { type: 'text?', half: 'start', isFact: true },
  agent: { type: 'text?', half: 'start', isFact: true, about: 'the one that its attributes name' },
  agent_version: { type: 'text?', half: 'start', isFact: true, about: 'of that agent' },
  operation: { type: 'text?', half: 'start', isFact: true },
  status: { type: 'text?', half: 'end', isFact: true },
  model: {
    type: 'text?',
    half: 'end',
    isFact: true,
    sql: 'coalesce(model, asked_model)',
    about: 'the one that answered, else the one that was requested',
  },
  input_tokens: { type: 'number?', half: 'end', isFact: true, about: 'in all' },
  output_tokens: { type: 'number?', half: 'end', isFact: true, about: 'in all' },
  cache_read_tokens: { type: 'number?', half: 'end', isFact: true },
  cache_creation_tokens: { type: 'number?', half: 'end', isFact: true },
  stated_cost: { type: 'number?', half: 'end', isFact: true },
  first_token_us: {
    type: 'number?',
    half: 'end',
    isFact: true,
    sql: '(first_token_us / 1000)',
    name: 'first_token_ms',
    about: 'in milliseconds',
  },
  output_preview: { type: 'text?', half: 'end', isFact: true },
} as const satisfies Record<string, CallColumn> & Facts

type Table = typeof callColumns
type Name = keyof Table
type Having<Traits> = { [N in Name]: Table[N] extends Traits ? N : never }[Name]
type Nullable = Having<{ type: `${string}?` }>
type Value<N extends Name> = ValueOf<Table[N]['type']>

export type LargeColumn = Having<{ type: `json${string}` }>
export type QueriedColumn = Exclude<Having<{ about: string }>, LargeColumn>
type Id = Exclude<Extract<RecordedColumn, `${string}_id`>, 'project_id'>
export type FilterMember = `${GivenName<Id> | 'call_id'}s`
type Fact<P extends Half> = Having<{ half: P; isFact: true }>
type Sent<P extends Half> = Exclude<Having<{ half: P }>, Fact<P>>
type Optional<P extends Half> = Exclude<Extract<Sent<P>, Nullable>, LargeColumn>
export type RecordedColumn = Exclude<Having<{ about: string }>, Fact<Half>>

/** As they are read: a large column that is not asked for is null, and so is the end of a running call. */
export type RecordedColumns = {
  [N in RecordedColumn]: Value<N> | (N extends LargeColumn | Having<{ half: 'end' }> ? null : never)
}

/** What is stored of a part besides its facts. */
export type SentColumns<P extends Half> = { [N in Exclude<Sent<P>, Optional<P>>]: Value<N> } & {
  [N in Optional<P>]?: Value<N>
}

export type FactColumns<P extends Half> = { [N in Fact<P>]: Value<N> }

type GivenName<N extends Name> = N extends Having<{ isWandb: true }> ? `svc_${N}` : N

/** What may be missing in a part, under the names that clients use. */
type GivenColumns<P extends Half> = { [N in Optional<P> as GivenName<N>]?: Value<N> | undefined }

const table: Readonly<Record<Name, CallColumn>> = callColumns
const all = Object.keys(callColumns) as Name[]

export const columnOf = (name: Name): CallColumn => table[name]
export const kindOf = <N extends Name>(name: N) => kindOfType<Table[N]['type']>(callColumns[name].type)
/** In requests and answers, ours first. */
export const namesOf = (name: Name): readonly string[] =>
  table[name].isWandb ? [`svc_${name}`, `wb_${name}`] : [nameOf(name)]
export const nameOf = (name: Name): string =>
  table[name].isWandb ? `svc_${name}` : (table[name].name ?? name)
const isNullable = (name: Name) => table[name].type.endsWith('?')
/** Whether a call may lack it. */
export const isOptional = (name: Name): boolean => isNullable(name) || table[name].half === 'end'
export const isLarge = (name: string): name is LargeColumn => largeColumns.some((large) => large === name)

/** The name of a call for people, in SQL. */
export const shownName = callColumns.display_name.sql

export const largeColumns = all.filter((name): name is LargeColumn => kindOf(name) === 'json')
export const recordedColumns = all.filter(
  (name): name is RecordedColumn => table[name].about !== undefined && !table[name].isFact,
)
/** What conditions and sorts use as it is. */
export const queriedColumns = all.filter(
  (name): name is QueriedColumn => table[name].about !== undefined && !isLarge(name),
)
/** The members of a filter that list values of a column, with that column. */
export const filteredColumns = recordedColumns
  .filter((name) => /(?:^|_)id$/.test(name) && name !== 'project_id')
  .map((name) => [`${name === 'id' ? 'call_id' : nameOf(name)}s` as FilterMember, name] as const)
export const sentColumns = <P extends Half>(half: P) =>
  all.filter((name): name is Sent<P> => table[name].half === half && !table[name].isFact)
export const factColumns = <P extends Half>(half: P) =>
  all.filter((name): name is Fact<P> => table[name].half === half && table[name].isFact === true)

const optionalOf = (half: Half) => sentColumns(half).filter((name) => isNullable(name) && !isLarge(name))
const optional = { start: optionalOf('start'), end: optionalOf('end') }

/** What may be missing in a part, from what a client sent. */
export function givenColumns<P extends Half>(
  half: P,
  sent: GivenColumns<P>,
): Pick<SentColumns<P>, Optional<P>> {
  const values: Readonly<Record<string, string | number | null | undefined>> = sent
  const known = optional[half].map((name) => [name, values[nameOf(name)] ?? null])
  return Object.fromEntries(known) as SentColumns<P>
}
