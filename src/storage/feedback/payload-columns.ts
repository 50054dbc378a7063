/**
 * Columns of Weave's feedback about what a scorer judged and of which span. They are members of the payload, where
 * scorers that do not know the columns write them as well. The values are those of feedback without them, as JSON.
 */
export const payloadColumns = {
  scorer_tags: '[]',
  scorer_tag_reasons: '{}',
  scorer_tag_confidences: '{}',
  scorer_ratings: '{}',
  scorer_rating_reasons: '{}',
  scorer_rating_confidences: '{}',
  scorer_trace_id: '""',
  span_agent_name: '""',
  span_agent_version: '""',
  span_status_code: '"UNSET"',
  span_conversation_id: '""',
  span_trace_id: '""',
} as const
export type PayloadColumn = keyof typeof payloadColumns

export const isPayloadColumn = (name: string): name is PayloadColumn => Object.hasOwn(payloadColumns, name)

/** The JSON of a column: a member of another type than the column's is none. */
export function columnText(name: PayloadColumn, json: string | null | undefined): string {
  const absent = payloadColumns[name]
  return json?.[0] === absent[0] ? (json as string) : absent
}
