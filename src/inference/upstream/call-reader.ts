import { randomUUID } from 'node:crypto'
import type { Part } from '../../../packages/chat-format/index.ts'
import type { FinishReason } from '../../../packages/engine/index.ts'
import { createNesting, type Nesting } from '../../../packages/json/index.ts'
import { isJson, isObjectText } from '../../domain/json/text.ts'
import { garbage } from './reply.ts'

export interface ReplyCall {
  index?: unknown
  id?: unknown
  function?: { name?: unknown; arguments?: unknown } | null
}

/**
 * Puts the calls of a choice into an order in which each ends before anything else begins. Servers may send the
 * arguments of parallel calls in turns: what comes while the arguments of an earlier call are incomplete waits.
 */
export interface CallReader {
  /** A text or a thought, which may come between calls. */
  addText(text: Part): Part[]
  /** A call, or more of one. In a whole message each is one of its own. */
  addCall(call: ReplyCall, isWhole: boolean): Part[]
  /** What still waits when the answer is over: why, as its server says it, and what that means. */
  finish(told: unknown, reason: FinishReason): Part[]
}

interface CallState {
  /** The number, or the id, by which its server refers to it. */
  told: string
  id: string | undefined
  name: string
  arguments: string
  nesting: Nesting
  /** Whether its arguments are an object so far. */
  isWhole: boolean
  isOver: boolean
}

export function createCallReader(): CallReader {
  const calls: CallState[] = []
  /** The call that has begun and has not ended. */
  let open: CallState | undefined
  let waiting: (CallState | Part)[] = []
  let begun = 0

  function begin(deltas: Part[], call: CallState): void {
    open = call
    const index = begun++
    const id = call.id ?? `call_${randomUUID().replaceAll('-', '')}`
    deltas.push({ kind: 'call', index, id, name: call.name })
    if (call.arguments !== '') deltas.push({ kind: 'arguments', index, text: call.arguments })
  }

  function end(deltas: Part[], call: CallState): void {
    call.isOver = true
    deltas.push({ kind: 'callEnd', index: begun - 1 })
  }

  /** Leaves the open call for what waits behind it. */
  function next(deltas: Part[]): void {
    open = undefined
    let taken = 0
    for (const item of waiting) {
      taken++
      if ('kind' in item) deltas.push(item)
      else {
        begin(deltas, item)
        break
      }
    }
    waiting = waiting.slice(taken)
  }

  /** Something new comes after the open call. */
  function after(deltas: Part[], item: CallState | Part): Part[] {
    // A call without arguments is over when a text comes. Before another call its own may still come.
    const isOver = open?.isWhole || (open?.arguments === '' && 'kind' in item)
    if (open !== undefined && !isOver) {
      waiting.push(item)
      return deltas
    }
    if (open !== undefined) end(deltas, open)
    open = undefined
    if ('kind' in item) deltas.push(item)
    else begin(deltas, item)
    return deltas
  }

  function addMore(call: CallState, text: string): Part[] {
    if (call.isOver) {
      // Clients were told that it is complete.
      if (text.trim() !== '') throw garbage('more arguments of a tool call after their end')
      return []
    }
    addArguments(call, text)
    if (call !== open || text === '') return []
    const deltas: Part[] = [{ kind: 'arguments', index: begun - 1, text }]
    while (waiting.length > 0 && open?.isWhole) {
      end(deltas, open)
      next(deltas)
    }
    return deltas
  }

  return {
    addText: (text) => after([], text),
    /**
     * A call is identified by its number or, if it has none, by its id. Some servers number all calls 0: one with
     * another id and a name is another, once the arguments before it are complete. Others make an id for each piece of
     * one.
     */
    addCall(call, isWhole) {
      const written = call.function?.arguments
      const more = typeof written === 'string' ? written : written == null ? '' : JSON.stringify(written)
      const id = typeof call.id === 'string' && call.id !== '' ? call.id : undefined
      const name = call.function?.name
      const told = call.index == null ? (id ?? calls.at(-1)?.told ?? '0') : String(call.index)
      const known = calls.findLast((earlier) => earlier.told === told)
      const isOther = id !== undefined && typeof name === 'string' && name !== '' && known?.id !== id
      if (known !== undefined && !isWhole && !(isOther && isJson(known.arguments)))
        return addMore(known, more)
      if (typeof name !== 'string' || name === '') throw garbage('a tool call without a name')
      const state: CallState = {
        ...{ told, id, name, arguments: '', nesting: createNesting() },
        ...{ isWhole: false, isOver: false },
      }
      addArguments(state, more)
      calls.push(state)
      return after([], state)
    },
    finish(told, reason) {
      const deltas: Part[] = []
      while (open !== undefined) {
        const isLast = !waiting.some((item) => !('kind' in item))
        if (hasEnded(open, isLast, told, reason)) end(deltas, open)
        next(deltas)
      }
      return deltas
    },
  }
}

/** Arguments come in many pieces: only where all braces are closed they are worth being read as a whole. */
function addArguments(call: CallState, text: string): void {
  call.nesting.add(text)
  call.arguments += text
  if (text !== '') call.isWhole = call.nesting.isClosed() && isObjectText(call.arguments)
}

/**
 * The last call is complete if the answer ended with it, and not in the middle of it. Some servers say only `stop`. Of
 * an answer that is cut off, any of the calls may be incomplete.
 */
function hasEnded(call: CallState, isLast: boolean, told: unknown, reason: FinishReason): boolean {
  if (!isLast) return reason === 'stop' || call.arguments === '' || isJson(call.arguments)
  return reason === 'stop' && (told === 'tool_calls' || told === 'function_call' || isJson(call.arguments))
}
