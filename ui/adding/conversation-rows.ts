import { chatMessagesOf } from '../../packages/conversations/index.ts'
import type { LightCall } from '../../src/operations/views/contract.ts'
import { contentOf, readTurnCalls } from '../screens/thread/turn-content.ts'
import { readTurns } from '../server/threads.ts'

/** Of a conversation that becomes one row. */
const maxTurns = 200
const maxCharacters = 1_000_000
/** Turns whose calls are read at once. */
const turnsAtOnce = 4

/** Why a conversation is no row. */
class LeftOut extends Error {}

async function allTurns(project: string, thread: string, signal: AbortSignal): Promise<LightCall[]> {
  const turns: LightCall[] = []
  let after: string | undefined
  do {
    const page = await readTurns(project, thread, { limit: 100, after }, signal)
    turns.push(...page.calls)
    after = page.next ?? undefined
    if (turns.length > maxTurns) throw new LeftOut(`more than ${maxTurns} turns`)
  } while (after !== undefined)
  if (turns.length === 0) throw new LeftOut('no turns: deleted or expired')
  return turns
}

/** All that a conversation says, each message once, in the shape of OpenAI's chat completions. */
async function rowOf(project: string, thread: string, signal: AbortSignal): Promise<string> {
  const turns = await allTurns(project, thread, signal)
  const messages = []
  let before: Awaited<ReturnType<typeof readTurnCalls>> | undefined
  for (let from = 0; from < turns.length; from += turnsAtOnce) {
    const some = turns.slice(from, from + turnsAtOnce)
    for (const calls of await Promise.all(some.map((turn) => readTurnCalls(project, turn, signal)))) {
      const { asked, answered, leftOut } = contentOf(calls, before)
      if (leftOut > 0) throw new LeftOut('a turn with too many calls')
      messages.push(...asked, ...answered)
      before = calls
    }
  }
  const row = JSON.stringify({ messages: chatMessagesOf(messages), thread_id: thread })
  if (row.length > maxCharacters) throw new LeftOut(`more than ${maxCharacters} characters`)
  return row
}

/** A row for each conversation, as JSON, and why others have none. */
export async function rowsOfConversations(project: string, threads: readonly string[], signal: AbortSignal) {
  const rows: string[] = []
  const leftOut: { thread: string; why: string }[] = []
  for (const thread of threads) {
    try {
      rows.push(await rowOf(project, thread, signal))
    } catch (reason) {
      if (!(reason instanceof LeftOut)) throw reason
      leftOut.push({ thread, why: reason.message })
    }
  }
  return { rows, leftOut }
}
