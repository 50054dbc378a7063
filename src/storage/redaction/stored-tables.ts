import { rawSql, type Sql, sql } from '../sql/sql.ts'

/** What a record may say, by column. Ids are not in it: they never change. */
export interface Shape {
  texts: readonly string[]
  json: readonly string[]
  /** The column with the bytes of the JSON. */
  size?: string
}

/** A table whose texts may be from a time when the project did not redact them. */
interface StoredTable extends Shape {
  /** Of the primary key, without the project. */
  key: readonly string[]
  ofProject: (project: string) => Sql
}

const rowsOf = (project: string): Sql => sql`project_id = ${project}`
/** Rows of a table without a project: what they belong to has one. */
const below =
  (owner: string, joint: string) =>
  (project: string): Sql =>
    sql`EXISTS (SELECT 1 FROM ${rawSql(owner)} AS owner WHERE owner.project_id = ${project} AND ${rawSql(joint)})`

/** In the order of a pass. The columns are those that a write of the same texts has: see entries.ts. */
export const storedTables = {
  calls: {
    key: ['id'],
    ofProject: rowsOf,
    texts: ['op_name', 'display_name', 'renamed', 'exception'],
    json: ['attributes', 'inputs', 'output', 'summary'],
  },
  feedback: { key: ['id'], ofProject: rowsOf, texts: ['creator'], json: ['payload'] },
  completions: { key: ['call_id'], ofProject: rowsOf, texts: [], json: ['metadata'] },
  response_details: {
    key: ['user_name', 'id'],
    ofProject: below(
      'responses',
      'owner.user_name = response_details.user_name AND owner.id = response_details.id',
    ),
    texts: [],
    json: ['referred'],
  },
  conversations: { key: ['user_name', 'id'], ofProject: rowsOf, texts: [], json: ['metadata'] },
  conversation_items: {
    key: ['user_name', 'conversation_id', 'position'],
    ofProject: below(
      'conversations',
      'owner.user_name = conversation_items.user_name AND owner.id = conversation_items.conversation_id',
    ),
    texts: [],
    json: ['inputs', 'output'],
  },
  judgements: {
    key: ['monitor_id', 'call_id', 'scorer'],
    ofProject: rowsOf,
    texts: ['reason', 'detail'],
    json: [],
  },
  shadow_pairs: { key: ['shadow_id', 'call_id'], ofProject: rowsOf, texts: ['reason', 'detail'], json: [] },
  batches: { key: ['id'], ofProject: rowsOf, texts: [], json: ['metadata', 'errors'] },
  alert_events: { key: ['id'], ofProject: rowsOf, texts: [], json: ['body'] },
  // Of one that has ended only the head is left. What still waits is asked as it was sent.
  waiting_response_texts: {
    key: ['user_name', 'id'],
    ofProject: below(
      'waiting_responses',
      'owner.user_name = waiting_response_texts.user_name AND owner.id = waiting_response_texts.id AND owner.ended_at IS NOT NULL',
    ),
    texts: [],
    json: ['head'],
  },
} as const satisfies Record<string, StoredTable>

export type StoredTableName = keyof typeof storedTables
export const storedTableNames = Object.keys(storedTables) as StoredTableName[]
