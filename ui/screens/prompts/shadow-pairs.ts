import { type CallPair, callsAtOnce } from '../../server/queues.ts'
import { requestLines } from '../../server/request.ts'
import { parseRef } from '../../value/ref.ts'

interface ShadowCall {
  id: string
  attributes: { heddle: { shadow: { call: string } } }
}

/** The answers of the label and of its shadow to the same requests, the newest first. */
export async function readShadowPairs(
  project_id: string,
  prompt: string,
  { name, shadow }: { name: string; shadow: { version: string } | null },
  signal: AbortSignal,
): Promise<CallPair[]> {
  const wanted = { label: name, 'prompt.id': prompt, 'prompt.version': shadow?.version ?? '' }
  const $and = Object.entries(wanted).map(([field, value]) => ({
    $eq: [{ $getField: `attributes.heddle.shadow.${field}` }, { $literal: value }],
  }))
  const body = {
    ...{ project_id, limit: callsAtOnce, columns: ['id', 'attributes'] },
    filter: { op_names: ['heddle.shadow'] },
    query: { $expr: { $and } },
    sort_by: [{ field: 'started_at', direction: 'desc' }],
  }
  const pairs: CallPair[] = []
  for await (const line of requestLines('/calls/stream_query', { body, signal })) {
    const { id, attributes } = JSON.parse(line) as ShadowCall
    const own = parseRef(attributes.heddle.shadow.call)?.name
    if (own !== undefined) pairs.push([own, id])
  }
  return pairs
}
