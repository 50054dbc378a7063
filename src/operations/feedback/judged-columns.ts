import { z } from 'zod'
import { exactJson, membersOf, objectText } from '../../../packages/json/index.ts'
import { plainText, shortRecord } from '../../domain/fields.ts'
import { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import {
  columnText,
  isPayloadColumn,
  type PayloadColumn,
  payloadColumns,
} from '../../storage/feedback/payload-columns.ts'
import type { FieldName } from './kinds.ts'
import { type Payload, payloadGiven } from './payload-size.ts'

const maxNames = 100
const name = plainText(256).min(1)
const byName = <Value extends z.ZodType>(value: Value, about: string) =>
  shortRecord(name, value, { min: 0, most: maxNames, things: 'members', name: 'name' })
    .nullish()
    .describe(about)
const share = z.number().min(0).max(1)
const reason = plainText(4096)
const text = (about: string) => plainText(512).nullish().describe(about)

/** What a scorer judged, and of which span. */
export const judgedFields = {
  scorer_tags: z
    .array(name)
    .max(maxNames)
    .nullish()
    .describe('This field and those that begin with scorer_ or span_ become members of the payload.'),
  scorer_tag_reasons: byName(reason, 'Why, by tag.'),
  scorer_tag_confidences: byName(share, 'From 0 to 1, by tag.'),
  scorer_ratings: byName(share, 'From 0 to 1, by name; a lone one is named _rating_.'),
  scorer_rating_reasons: byName(reason, 'Why, by rating.'),
  scorer_rating_confidences: byName(share, 'From 0 to 1, by rating.'),
  scorer_trace_id: text('The trace of the judge.'),
  span_agent_name: text('The agent that was judged.'),
  span_agent_version: text('Its version.'),
  span_status_code: z.enum(['UNSET', 'OK', 'ERROR']).nullish().describe('Its status.'),
  span_conversation_id: text('The conversation that was judged.'),
  span_trace_id: text('The trace of the turn that was judged.'),
} satisfies Record<PayloadColumn, z.ZodType>

const columnNames = Object.keys(payloadColumns).filter(isPayloadColumn)

type Judged = { [Name in PayloadColumn]?: unknown } & { payload: Payload }

/** The feedback with these fields in its payload. A member of another value there is refused: one of the two would be lost. */
export function withJudged<Given extends Judged>(feedback: Given, at: FieldName): Given {
  const sent = columnNames.flatMap((column) => {
    const json = feedback[column] == null ? payloadColumns[column] : JSON.stringify(feedback[column])
    return json === payloadColumns[column] ? [] : [[column, json] as const]
  })
  // What is too large is refused below.
  if (sent.length === 0 || feedback.payload.isTooLarge) return feedback
  const members = membersOf(feedback.payload.json.text)
  for (const [column, json] of sent) {
    const own = members.get(column)
    if (own !== undefined && exactJson(own) !== exactJson(json)) {
      const accepted = `no such field, or the value of payload.${column}`
      throw wrong(at(column), json.slice(0, 200), accepted)
    }
    members.set(column, own ?? json)
  }
  return { ...feedback, payload: payloadGiven(new JsonText(objectText(members))) }
}

/** What a payload has of them, for answers. */
export function judgedIn(payload: string): [name: PayloadColumn, value: JsonText][] {
  if (!/"(?:scorer|span)_/.test(payload)) return []
  const members = membersOf(payload)
  return columnNames.flatMap((column): [PayloadColumn, JsonText][] => {
    const json = columnText(column, members.get(column))
    return json === payloadColumns[column] ? [] : [[column, new JsonText(json)]]
  })
}
