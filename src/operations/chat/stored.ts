import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import { itemsOf, membersOf, objectText } from '../../../packages/json/index.ts'
import { byCaller, type Caller, requireAccess, requireScope } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import {
  findStoredCompletion,
  inputsOfCompletion,
  type Position,
  readStoredCompletion,
  type StoredCompletion,
  streamStoredCompletions,
} from '../../storage/answers/stored-completions.ts'
import { type Database, databaseOf } from '../../storage/database.ts'
import { withPictures } from '../../storage/pictures/restore.ts'
import { boundTo } from '../../storage/transaction.ts'
import { maxEntries } from '../../threads/cache-bounds.ts'
import { checkMetadata } from '../generation/checks.ts'
import { pageAfter } from '../list-pages.ts'
import type { Recorder } from '../recording/answer.ts'
import { projectHeader, recordingTarget } from '../recording/target-headers.ts'
import type { ListQuery, MessagesQuery, UpdateBody } from './stored-contract.ts'

interface StoredParts {
  db: Database
  recorder: Recorder
}

interface Asked {
  caller: Caller
  headers: IncomingHttpHeaders
}

/** A client that pages through a list and deletes what it shows can continue after a deleted completion. */
const maxDeleted = 10_000

/** More than a request can have. Pictures beyond it, of calls that were changed, stay the names of their files. */
const maxPageCharacters = 128 * 1024 * 1024

/** The chat completions of the record, as OpenAI shows stored completions. */
export function storedCompletions({ db, recorder }: StoredParts) {
  const deleted = new LRUCache<string, Position>(maxEntries(maxDeleted))
  const keyOf = (project: string, id: string) => `${project} ${id}`

  /**
   * The record, read and written as the caller's tenant, and the project of the request. Refuses without access to it.
   */
  function own({ caller, headers }: Asked) {
    const { project } = recordingTarget(caller, headers)
    requireAccess(caller, project, projectHeader)
    return { own: databaseOf(caller.name, db), project }
  }

  async function find(asked: Asked, id: string) {
    const { own: record, project } = own(asked)
    await recorder.settled(project, id)
    const found = await findStoredCompletion(record, project, id, now())
    if (found === undefined) throw refuse('completion_not_found', { id })
    return { record, project, ...found }
  }

  async function read(record: Database, project: string, callId: string, id: string): Promise<JsonText> {
    const row = await readStoredCompletion(record, project, callId, now())
    if (row === undefined) throw refuse('completion_not_found', { id })
    return completionOf(row)
  }

  async function positionOf(record: Database, project: string, id: string): Promise<Position> {
    const position =
      (await findStoredCompletion(record, project, id, now())) ?? deleted.get(keyOf(project, id))
    if (position === undefined)
      throw wrong('after', JSON.stringify(id), 'the id of a completion of this project')
    return position
  }

  return {
    async list(asked: Asked, query: ListQuery, signal: AbortSignal) {
      const { own: record, project } = own(asked)
      const { after, limit, order, model, ...filters } = query
      const metadata = metadataAsked(filters)
      const position = after === undefined ? undefined : await positionOf(record, project, after)
      const page = { project, order, model, metadata, after: position, limit: limit + 1, now: now() }
      const about = emptyPage()
      return {
        items: itemsOfPage(streamStoredCompletions(boundTo(record, signal), page), limit, about),
        about,
      }
    },
    async retrieve(asked: Asked, id: string) {
      const { record, project, callId, matches } = await find(asked, id)
      return { answer: await read(record, project, callId, id), matches }
    },
    async messages(asked: Asked, id: string, query: MessagesQuery) {
      const { record, project, callId } = await find(asked, id)
      const inputs = await inputsOfCompletion(record, project, callId, now())
      if (inputs === undefined) throw refuse('completion_not_found', { id })
      const page = messagesOf(id, inputs, query)
      let room = maxPageCharacters
      const data: JsonText[] = []
      for (const { text: named } of page.data) {
        const text = (await withPictures(record, project, named, room)) ?? named
        room -= text.length
        data.push(new JsonText(text))
      }
      return { ...page, data }
    },
    async update(asked: Asked, id: string, { metadata }: UpdateBody) {
      checkMetadata(metadata)
      // The answer has what the model said.
      requireScope(asked.caller, 'read')
      const { record, project, callId, matches } = await find(asked, id)
      const change = { project_id: project, call_id: callId, metadata: metadata?.text ?? null }
      await record.write('changeCompletionMetadata', change)
      return { answer: await read(record, project, callId, id), matches }
    },
    async remove(asked: Asked, id: string) {
      const { record, project, callId, createdAt, matches } = await find(asked, id)
      const by = byCaller(asked.caller)
      await record.write('deleteCalls', { project_id: project, ids: [callId], now: now(), by })
      deleted.set(keyOf(project, id), { callId, createdAt })
      return { answer: { object: 'chat.completion.deleted' as const, id, deleted: true as const }, matches }
    },
  }
}

/** The answer as it was given, with its present metadata. */
function completionOf({ output, metadata }: StoredCompletion): JsonText {
  return new JsonText(objectText(membersOf(output).set('metadata', metadata ?? '{}')))
}

function metadataAsked(filters: Record<string, unknown>): Map<string, string> {
  const asked = new Map<string, string>()
  for (const [name, value] of Object.entries(filters)) {
    const entry = /^metadata\[(.*)\]$/s.exec(name)?.[1]
    if (entry === undefined || entry === '')
      throw wrong(name, 'given', 'after, limit, order, model and metadata[name]')
    asked.set(entry, String(value))
  }
  return asked
}

type AboutPage = {
  object: 'list'
  first_id: string | null
  last_id: string | null
  has_more: boolean
}

const emptyPage = (): AboutPage => ({ object: 'list', first_id: null, last_id: null, has_more: false })

/** `about` makes the head of the page once its items have been read. */
async function* itemsOfPage(
  rows: AsyncIterable<StoredCompletion[]>,
  limit: number,
  about: AboutPage,
): AsyncGenerator<string> {
  let count = 0
  for await (const some of rows) {
    for (const row of some) {
      if (count++ === limit) {
        about.has_more = true
        return
      }
      about.first_id ??= row.completion_id
      about.last_id = row.completion_id
      yield completionOf(row).text
    }
  }
}

function messagesOf(completion: string, inputs: string, query: MessagesQuery) {
  const texts = itemsOf(membersOf(inputs).get('messages') ?? '[]')
  const all = texts.map((text, index) => ({ id: `${completion}-${index}`, text }))
  const show = ({ id, text }: (typeof all)[number]) => messageOf(id, text)
  return pageAfter(all, query, { show, expected: 'the id of a message of this completion' })
}

/** Content that was given in parts stays in parts. */
function messageOf(id: string, text: string): JsonText {
  const members = membersOf(text)
  const content = members.get('content') ?? 'null'
  const isParts = content.startsWith('[')
  const message = new Map([['id', JSON.stringify(id)], ...members])
  message.set('content', isParts ? 'null' : content)
  message.set('content_parts', isParts ? content : 'null')
  if (!message.has('refusal')) message.set('refusal', 'null')
  return new JsonText(objectText(message))
}
