import type { BoundReader } from '../transaction.ts'
import { isConversationField } from './span-fields.ts'
import { type GroupsView, readSpanGroups, type SpanGroup } from './span-groups.ts'

/** What attributes say of a group: JSON of texts. */
export interface GroupDetails {
  total_reasoning_tokens: number | null
  provider_names: string | null
  conversation_names: string | null
}

/** Spans whose attributes are read for a page of groups. */
export const maxDetailed = 20_000

const keyOf = (row: SpanGroup, keys: GroupsView['keys']) =>
  JSON.stringify(keys.map((_, index) => row[`key_${index}`]))

/** Of the groups of a page, in its order; undefined of spans without a conversation, and if they have too many spans. */
export async function readGroupDetails(
  db: BoundReader,
  view: GroupsView,
  page: readonly SpanGroup[],
  now: number,
): Promise<(GroupDetails | undefined)[]> {
  const spans = page.reduce((sum, { span_count }) => sum + span_count, 0)
  const [key] = view.keys
  if (key === undefined || spans === 0 || spans > maxDetailed) return page.map(() => undefined)
  const values = page.map(({ key_0 }) => key_0 ?? null)
  const isConversation = !key.isAttribute && isConversationField(key.field)
  const own = isConversation
    ? { conversations: values.filter((value) => value !== null) }
    : { firstKeys: values }
  const all = { ...view, ...own, measures: [], bounds: [], sort: [], limit: null, offset: 0 }
  const rows = await readSpanGroups(db, { ...all, costs: false, details: true }, now)
  const found = new Map(rows.map((row) => [keyOf(row, view.keys), row as SpanGroup & GroupDetails]))
  return page.map((row) => found.get(keyOf(row, view.keys)))
}
