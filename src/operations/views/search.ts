import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { maxTerms, readSearch, type Term } from '../../domain/search/search-text.ts'
import { snippetsOf } from '../../domain/search/snippets.ts'
import { textsIn } from '../../domain/search/texts.ts'
import { now } from '../../domain/time.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import {
  countIndexedCalls,
  findCalls,
  indexCoverage,
  readFoundTexts,
} from '../../storage/search/found-calls.ts'
import { type FoundTexts, notesOf, shortOp } from '../../storage/search/indexing.ts'
import { countLightCalls, readLightCalls } from '../../storage/views/light-calls.ts'
import { callsViewOf } from '../calls/query.ts'
import type { Sealing } from '../sealing.ts'
import { type Asked, shownCalls } from './calls.ts'
import type { LightCall } from './contract.ts'
import { defaultFound, type Found, type SearchBody } from './search-contract.ts'

const maxSnippets = 3
/** Bound for counting the calls of a project: beyond it nobody needs the exact number. */
const maxCounted = 10_000_000

export async function searchCalls(
  { db, names, sealing }: Asked & { sealing: Sealing },
  caller: Caller,
  body: SearchBody,
  field = 'text',
) {
  requireAccess(caller, body.project_id)
  const terms = termsIn(body.text, field)
  const positions = positionsIn(sealing, body.project_id)
  const before = await positions.startOf(body)
  const limit = body.limit ?? defaultFound
  const { project_id: project, filter, query } = body
  const view = { ...(await callsViewOf(names, { project_id: project, filter, query })), limit }
  const reach = await indexCoverage(db, project)
  if (reach === 'off') throw refuse('search_off')
  const time = now()
  const hits = await findCalls(db, view, terms, before, time)
  const last = hits.at(-1)
  const ids = hits.map(({ id }) => id)
  return {
    found: ids.length === 0 ? [] : await readFound(db, project, ids, terms, time),
    next: last !== undefined && hits.length === limit ? await positions.named(last.doc) : null,
    searchable: reach === 'all' ? null : await searchableOf(db, project, time),
  }
}

function termsIn(text: string, field: string): Term[] {
  const terms = readSearch(text)
  const wanted = terms.filter(({ isExcluded }) => !isExcluded)
  if (wanted.length > 0 && terms.length <= maxTerms) return terms
  throw wrong(
    field,
    terms.length > maxTerms ? `${terms.length} words` : JSON.stringify(text),
    `1 to ${maxTerms} words, at least one of them without a minus`,
  )
}

/**
 * Positions in the search of a project, as clients store them. They are sealed: entries are numbered over all projects,
 * so their numbers would tell how many calls others have written.
 */
function positionsIn(sealing: Sealing, project: string) {
  const opened = () => sealing.open(`search ${project}`)
  return {
    named: async (position: number) => (await opened()).seal(String(position)),
    async startOf({ after }: SearchBody): Promise<number | undefined> {
      if (after == null) return undefined
      const position = (await opened()).unseal(after)
      if (position !== undefined) return Number(position)
      throw wrong('after', JSON.stringify(after), '`next` of the previous page')
    },
  }
}

async function readFound(
  db: BoundDatabase,
  project: string,
  ids: readonly string[],
  terms: readonly Term[],
  time: number,
): Promise<Found[]> {
  const view = {
    ...{ project, filters: [{ call_ids: ids }], query: undefined, sort: [] },
    ...{ limit: ids.length, offset: 0 },
  }
  const rows = await readLightCalls(db, view, time)
  const calls = new Map((await shownCalls(db, project, rows)).map((call) => [call.id, call]))
  const texts = await readFoundTexts(db, project, ids)
  const notes = await notesOf(db, project, ids)
  const yieldToLoop = createYieldToLoop(db.signal)
  const snippets = new Map<string, Found['snippets']>()
  for (const found of texts) {
    const call = calls.get(found.id)
    if (call) snippets.set(found.id, snippetsIn(call, found, notes.get(found.id) ?? [], terms))
    const pause = yieldToLoop()
    if (pause) await pause
  }
  // Calls that were deleted since they were found are left out.
  return ids.flatMap((id) => {
    const call = calls.get(id)
    return call === undefined ? [] : [{ call, snippets: snippets.get(id) ?? [] }]
  })
}

function snippetsIn(
  { op_name, display_name }: LightCall,
  { inputs, output, exception }: FoundTexts,
  notes: readonly string[],
  terms: readonly Term[],
): Found['snippets'] {
  const sources: [field: Found['snippets'][number]['field'], texts: readonly string[]][] = [
    ['inputs', textsIn(inputs ?? '')],
    ['output', textsIn(output ?? '')],
    ['exception', exception === null ? [] : [exception]],
    ['note', notes],
    ['name', [shortOp(op_name), display_name ?? '']],
  ]
  const snippets: Found['snippets'] = []
  for (const [field, texts] of sources) {
    const most = maxSnippets - snippets.length
    for (const snippet of snippetsOf(texts, terms, most)) snippets.push({ field, ...snippet })
  }
  return snippets
}

async function searchableOf(db: BoundDatabase, project: string, time: number) {
  const view = { project, filters: [], query: undefined, sort: [], limit: null, offset: 0 }
  const { count: of } = await countLightCalls(db, view, maxCounted, time)
  // Entries of deleted calls exist until they are swept.
  const value = Math.min(of, await countIndexedCalls(db, project))
  return { value, of }
}
