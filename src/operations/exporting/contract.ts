import { z } from 'zod'
import { callId, dateTime, jsonObject, jsonValue, plainText, projectId } from '../../domain/fields.ts'
import { CallRecord, CallsFilter, endFields, startFields } from '../calls/contract.ts'
import { objectId } from '../objects/contract.ts'
import { query } from '../paging-contract.ts'

/** In the order in which they are written: what is referred to precedes what refers to it. */
export const exportKinds = ['files', 'tables', 'objects', 'calls', 'feedback'] as const
export type ExportKind = (typeof exportKinds)[number]

/** Version of the line format. An import refuses others. */
export const exportVersion = 1

/** The formats that an export may have. */
export const exportFormats = ['jsonl', 'parquet'] as const

export const ExportBody = z.strictObject({
  project_id: projectId,
  format: z
    .enum(exportFormats)
    .nullish()
    .describe('JSON Lines (the default), or Parquet: a file of one kind, with a column for each member.'),
  kinds: z
    .array(z.enum(exportKinds))
    .min(1)
    .max(16)
    .nullish()
    .describe('What to export. Default: everything.'),
  filter: CallsFilter.nullish().describe(
    'Which calls to export. Feedback is then limited to these calls; the other kinds are exported in full.',
  ),
  query,
  after: callId
    .nullish()
    .describe('Resumes an export of calls that was cut off: the id of the last call that arrived.'),
})
export type ExportBody = z.output<typeof ExportBody>

const member = (what: string) => z.record(z.string(), z.unknown()).optional().describe(what)

/** One line. It has exactly one of these members. */
export const ExportLine = z.object({
  export: member('The first line: version, project_id, at, kinds.'),
  file: member('A piece of a file: digest, size, from, base64.'),
  rows: member('Rows of a table in order: table, count, from, values.'),
  object: member('A version of an object, as returned by /obj/read, with its tags and aliases.'),
  call: CallRecord.optional(),
  feedback: member('As returned by /feedback/query.'),
  end: member('The last line: how many there were of each kind. If it is missing, the export was cut off.'),
})

const user = plainText(256).nullish()
const ref = plainText(4096).nullish()

const ExportHead = z.object({ version: z.literal(exportVersion), project_id: projectId })

const FilePiece = z.object({
  digest: plainText(64).min(1),
  size: z.int().min(0),
  from: z.int().min(0),
  base64: z.base64(),
})

const TableRows = z.object({
  table: plainText(64).min(1),
  count: z.int().min(0).max(1_000_000),
  from: z.int().min(0),
  values: z.array(jsonObject()),
})

const ImportedObject = z.object({
  object_id: objectId,
  digest: plainText(64).min(1),
  is_latest: z.int().min(0).max(1),
  val: jsonValue().nullable(),
  created_at: dateTime,
  svc_user_id: user,
  tags: z.array(plainText(256).min(1)).nullish(),
  aliases: z.array(plainText(128).min(1)).nullish(),
})
export type ImportedObject = z.output<typeof ImportedObject>

const ImportedCall = z.object({
  ...startFields,
  ...endFields,
  id: callId,
  ended_at: dateTime.nullish(),
  summary: jsonObject().nullish(),
  svc_user_id: user,
})
export type ImportedCall = z.output<typeof ImportedCall>

const ImportedFeedback = z.object({
  id: plainText(256).min(1),
  feedback_type: plainText(512).min(1),
  svc_ref: plainText(4096).min(1),
  svc_user_id: user,
  creator: plainText(1024).nullish(),
  created_at: dateTime,
  payload: jsonObject(),
  annotation_ref: ref,
  runnable_ref: ref,
  call_ref: ref,
  trigger_ref: ref,
  queue_id: plainText(256).nullish(),
})
export type ImportedFeedback = z.output<typeof ImportedFeedback>

/** A line as an import reads it. */
export const ImportLine = z.object({
  export: ExportHead.nullish(),
  file: FilePiece.nullish(),
  rows: TableRows.nullish(),
  object: ImportedObject.nullish(),
  call: ImportedCall.nullish(),
  feedback: ImportedFeedback.nullish(),
  end: z.record(z.string(), z.int()).nullish(),
})
export type ImportLine = z.output<typeof ImportLine>
