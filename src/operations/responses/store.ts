import { byCaller, type Caller } from '../../domain/callers.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { createYieldToLoop } from '../../domain/yielding.ts'
import { type Database, databaseOf } from '../../storage/database.ts'
import { hasResponse, readResponse, type Said, streamConversation } from '../../storage/tables/responses.ts'
import { wrong } from '../generation/checks.ts'
import type { Item } from './items.ts'
import { mostItems } from './items-contract.ts'
import type { OutputItem } from './output.ts'

/** The answers of one user, as long as they are kept. Nobody else sees that they are there. */
export interface ResponseStore {
  has(id: string): Promise<boolean>
  find(id: string, signal: AbortSignal): Promise<KeptResponse | undefined>
  /** What was said up to the end of an answer, and the answers that it was said in. */
  conversation(id: string, signal: AbortSignal): Promise<{ items: Item[]; responses: string[] }>
  /** Resolves when it is on the disk. */
  keep(response: ResponseToKeep): Promise<void>
  /** False where there is none. */
  remove(id: string): Promise<boolean>
}

export interface KeptResponse {
  /** The whole answer. */
  answer: JsonText
  input: Item[]
  output: OutputItem[]
  /** The lengths of the deltas of its stream. */
  cuts: number[]
}

export interface ResponseToKeep {
  id: string
  previous: string | null
  /** The answers that it continues: they are kept as long as it is. */
  earlier: readonly string[]
  input: readonly Item[]
  output: readonly OutputItem[]
  /** The answer without its output. */
  answer: object
  cuts: readonly number[]
}

/** Of a conversation, as text: some hundred times what a context holds. */
const mostCharacters = 32 * 1024 * 1024

const dayInMicroseconds = 86_400_000_000

/** `days` is how long an answer is kept; 0 is for ever. */
export function responsesOf(caller: Caller, db: Database, days: number): ResponseStore {
  const { name: user } = caller
  const own = databaseOf(user, db)
  const keyOf = (id: string) => ({ user_name: user, id, now: now() })
  return {
    has: (id) => hasResponse(own, keyOf(id)),

    async find(id, signal) {
      const row = await readResponse(own, keyOf(id), signal)
      if (row === undefined) return undefined
      return {
        answer: new JsonText(`${row.answer.slice(0, -1)},"output":${row.output}}`),
        input: JSON.parse(row.input) as Item[],
        output: JSON.parse(row.output) as OutputItem[],
        cuts: JSON.parse(row.cuts) as number[],
      }
    },

    async conversation(id, signal) {
      const missing = (name: string) => refuse('previous_response_not_found', { id: name, field })
      const field = 'previous_response_id'
      const turns: Item[][] = []
      const responses: string[] = []
      const yieldToLoop = createYieldToLoop(signal)
      let next: string | null = id
      let items = 0
      let characters = 0
      for await (const rows of streamConversation(own, keyOf(id), mostItems, signal)) {
        for (const said of rows) {
          if (said.id !== next) throw missing(next ?? said.id)
          const turn = itemsOf(said)
          items += turn.length
          characters += said.input.length + said.output.length
          if (items > mostItems) throw wrong(field, `a conversation of more than ${mostItems} items`, 'fewer')
          if (characters > mostCharacters) {
            throw wrong(field, `a conversation of more than ${mostCharacters} characters`, 'a shorter one')
          }
          turns.push(turn)
          responses.push(said.id)
          next = said.previous_id
          await yieldToLoop()
        }
      }
      if (next !== null) throw missing(next)
      return { items: turns.reverse().flat(), responses }
    },

    async keep({ id, previous, earlier, input, output, answer, cuts }) {
      const created = now()
      const isNew = await own.write('keepResponse', {
        user_name: user,
        id,
        created_at: created,
        expire_at: days > 0 ? created + days * dayInMicroseconds : null,
        previous_id: previous,
        earlier,
        input: writeJson(input),
        output: writeJson(output),
        answer: writeJson(answer),
        cuts: JSON.stringify(cuts),
      })
      if (!isNew) throw refuse('response_exists', { id, field: 'request_id' })
    },

    remove: (id) => own.write('deleteResponse', { ...keyOf(id), by: byCaller(caller) }),
  }
}

function itemsOf({ input, output }: Said): Item[] {
  return [...(JSON.parse(input) as Item[]), ...(JSON.parse(output) as Item[])]
}
