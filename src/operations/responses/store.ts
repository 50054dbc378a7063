import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { byCaller, type Caller, hasAccess } from '../../domain/callers.ts'
import { JsonText, type WithSharedTexts, writeJson } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { RecordedAnswer } from '../../storage/answers/recorded-answers.ts'
import { projectOfResponse, readResponse, streamConversation } from '../../storage/answers/responses.ts'
import { readWaiting, type WaitingResponse } from '../../storage/answers/waiting-responses.ts'
import { type Database, databaseOf } from '../../storage/database.ts'
import { withPictures } from '../../storage/pictures/restore.ts'
import { boundTo } from '../../storage/transaction.ts'
import { additionOf, type ContinuedConversation } from '../conversations/additions.ts'
import type { Sealing } from '../sealing.ts'
import type { Item } from './items.ts'
import { maxItems } from './items-contract.ts'
import type { OutputItem } from './output.ts'
import { inputOf, outputOf, type Unseal, type WithPictures } from './stored-items.ts'

/** The stored answers of one user in the projects that the user has access to. To all others they do not exist. */
export interface ResponseStore {
  unseal: Unseal
  has(id: string): Promise<boolean>
  find(id: string, signal: AbortSignal): Promise<ReadableResponse | undefined>
  /** One that is answered in the background, or ended there without an answer. */
  waiting(id: string): Promise<WaitingResponse | undefined>
  /** All items up to the end of an answer. */
  conversation(id: string, signal: AbortSignal): Promise<Conversation>
  /** Resolves when the answer and its call are on disk. */
  keep(response: NewResponse): Promise<void>
  /** Removes its call as well. False if there is none. */
  remove(id: string): Promise<boolean>
}

export interface ReadableResponse {
  /** The whole answer. */
  answer: JsonText
  /** Number of characters that were read of it. */
  size: number
  output: OutputItem[]
  /** The input of its own request. */
  input(): Promise<Item[]>
  /** The lengths of the deltas of its stream. */
  cuts: number[]
}

interface Conversation {
  items: Item[]
  /** The answers of the conversation that expire. */
  expiring: string[]
}

export interface NewResponse {
  id: string
  /** The process that answers it in the background. */
  holder?: string | undefined
  previous: string | null
  /** The answers that it continues and that expire: they are kept as long as this one. */
  expiring: readonly string[]
  /** The items that the references of its input name, by their index. */
  referred: Readonly<Record<number, Item>>
  /** The conversation that it continues. */
  continued: ContinuedConversation | undefined
  output: readonly OutputItem[]
  cuts: readonly number[]
  call: WithSharedTexts<RecordedAnswer>
}

/** Characters of the items of a conversation: about a hundred times what a context holds. */
const maxCharacters = 32 * 1024 * 1024

/** Characters of all its requests and answers, including tools and instructions. */
export const maxReadCharacters = 4 * maxCharacters

const dayInMicroseconds = 86_400_000_000

export interface StoreParts {
  db: Database
  /** Most days that an answer is kept; 0 means as long as the record keeps its call. */
  responseDays: number
  sealing: Sealing
}

export function responsesOf(caller: Caller, { db, responseDays, sealing }: StoreParts): ResponseStore {
  const { name: user } = caller
  const own = databaseOf(user, db)
  const keyOf = (id: string) => ({ user_name: user, id, now: now() })
  const isOpen = (project: string | null) => project === null || hasAccess(caller, project)

  const unseal: Unseal = async (sealed) => (await sealing.open(user)).unseal(sealed)

  const sources = (maxLength: number) => ({
    unseal,
    withPictures: ((project, json) => withPictures(own, project, json, maxLength)) satisfies WithPictures,
  })

  async function has(id: string): Promise<boolean> {
    const project = await projectOfResponse(own, keyOf(id))
    return project !== undefined && isOpen(project)
  }

  async function waiting(id: string): Promise<WaitingResponse | undefined> {
    const response = await readWaiting(own, keyOf(id))
    return response && isOpen(response.project_id) ? response : undefined
  }

  return {
    unseal,
    has,
    waiting,

    async find(id, signal) {
      const row = await readResponse(boundTo(own, signal), keyOf(id))
      if (row === undefined || !isOpen(row.project_id) || row.answer === null) return undefined
      const output = await outputOf(row)
      if (output === undefined) return undefined
      return {
        answer: new JsonText(row.answer),
        size: row.answer.length + row.referred.length + (row.asked?.length ?? 0),
        output: output.items,
        cuts: JSON.parse(row.cuts) as number[],
        async input() {
          const input = await inputOf(row, sources(maxReadCharacters))
          if (input === undefined || input === 'too long') throw refuse('response_not_found', { id })
          return input.items
        },
      }
    },

    async conversation(id, signal) {
      const field = 'previous_response_id'
      const missing = (name: string) => refuse('previous_response_not_found', { id: name, field })
      const length = `a conversation of more than ${maxCharacters} characters`
      const tooLong = wrong(field, length, 'a shorter one')
      const turns: Item[][] = []
      const expiring: string[] = []
      const yieldToLoop = createYieldToLoop(signal)
      let next: string | null = id
      let items = 0
      let characters = 0
      let read = 0
      for await (const exchange of streamConversation(boundTo(own, signal), keyOf(id), maxItems)) {
        if (exchange.id !== next || !isOpen(exchange.project_id)) throw missing(next ?? exchange.id)
        read += (exchange.asked?.length ?? 0) + (exchange.answer?.length ?? 0)
        if (read > maxReadCharacters) {
          throw wrong(
            field,
            `requests and answers of more than ${maxReadCharacters} characters`,
            'a shorter conversation',
          )
        }
        const input = await inputOf(exchange, sources(maxCharacters - characters), yieldToLoop)
        if (input === 'too long') throw tooLong
        const output = await outputOf(exchange, yieldToLoop)
        if (input === undefined || output === undefined) throw missing(exchange.id)
        const turn = [...input.items, ...output.items]
        items += turn.length
        characters += input.characters + output.characters
        if (items > maxItems) throw wrong(field, `a conversation of more than ${maxItems} items`, 'fewer')
        if (characters > maxCharacters) throw tooLong
        turns.push(turn)
        if (exchange.expires) expiring.push(exchange.id)
        next = exchange.previous_id
        await yieldToLoop()
      }
      if (next !== null) throw missing(next)
      return { items: turns.reverse().flat(), expiring }
    },

    async keep({ id, holder, previous, expiring, referred, continued, output, cuts, call }) {
      const isNew = await own.write('keepResponse', {
        user_name: user,
        id,
        holder,
        previous_id: previous,
        earlier: expiring,
        until: responseDays > 0 ? now() + responseDays * dayInMicroseconds : null,
        answer: call,
        referred: writeJson(referred),
        cuts: JSON.stringify(cuts),
        appended: continued === undefined ? null : additionOf(continued, output),
      })
      if (!isNew) throw refuse('response_exists', { id, field: 'request_id' })
    },

    async remove(id) {
      if (!(await has(id)) && (await waiting(id)) === undefined) return false
      return own.write('deleteResponse', { ...keyOf(id), by: byCaller(caller) })
    },
  }
}
