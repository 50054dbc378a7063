import { type Transcript, transcriptOf } from '../../../packages/conversations/index.ts'
import { csvLine } from '../../datasets/csv.ts'
import { type CallFormat, type CallRow, costOf, modelsOf, statusOf, tokensOf } from '../../server/calls.ts'
import { type JsonNode, jsonNode, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import { conversationIn } from '../../value/messages.ts'

interface Exported {
  call: JsonNode
  row: CallRow
  transcript: Transcript | undefined
}

/** What a spreadsheet shows of a call. Inputs and output are texts, or JSON with the digits that were sent. */
const columns: Record<string, (call: Exported) => string | number | null | undefined> = {
  id: ({ row }) => row.id,
  trace_id: ({ row }) => row.trace_id,
  op_name: ({ row }) => row.op_name,
  display_name: ({ row }) => row.display_name,
  status: ({ row }) => statusOf(row),
  started_at: ({ row }) => row.started_at,
  ended_at: ({ row }) => row.ended_at,
  latency_ms: ({ row }) => row.summary.weave?.latency_ms,
  model: ({ row }) => modelsOf(row).join(' '),
  input_tokens: ({ row }) => tokensOf(row)?.input,
  output_tokens: ({ row }) => tokensOf(row)?.output,
  cost: ({ row }) => costOf(row),
  user: ({ row }) => row.svc_user_id,
  exception: ({ row }) => row.exception,
  question: ({ transcript }) => transcript?.question,
  answer: ({ transcript }) => transcript?.answer,
  inputs: ({ call }) => textOf(nodeAt(call, 'inputs')),
  output: ({ call }) => textOf(nodeAt(call, 'output')),
}

export const csv: CallFormat = {
  type: 'text/csv',
  head: csvLine(Object.keys(columns)),
  lineOf(json) {
    const call = jsonNode(json)
    const conversation = conversationIn(call)
    const transcript = conversation && transcriptOf(conversation)
    const exported = { call, row: JSON.parse(json) as CallRow, transcript }
    return csvLine(Object.values(columns).map((cell) => String(cell(exported) ?? '')))
  },
}

const textOf = (node: JsonNode | undefined): string | undefined =>
  node === undefined || node.kind === 'null' ? undefined : (stringOf(node) ?? sourceOf(node))
