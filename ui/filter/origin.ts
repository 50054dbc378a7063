import type { Expression } from '../../packages/filter/index.ts'

/** Fields by which a user asks for certain calls, whatever they were made for. */
const named = /(?:^|[\s(-])(?:origin|trace|parent|run|id|queue):/

/** Whether calls of judges and evaluations are shown as well: `judged` is in the address, `text` in the filter bar. */
export const showsAllOrigins = (judged: string | null, text: string): boolean =>
  judged === '1' || named.test(text)

/** Leaves out the calls of judges and evaluations. */
export const ofApplication = (query: Expression | undefined): Expression => ({
  $and: [...(query ? [query] : []), { $eq: [{ $getField: 'origin' }, { $literal: 'app' }] }],
})
