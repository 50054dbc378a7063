import {
  type Before,
  type Conversation,
  nothingBefore,
  turnOf,
} from '../../../packages/conversations/index.ts'
import type { LightCall } from '../../../src/operations/views/contract.ts'
import { readPayloads, readTrace, type TraceCall } from '../../server/calls.ts'
import { type JsonNode, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import { type Branch, costOfTrace, linesOf, tokensOfTrace, treeOf } from '../trace/tree.ts'

/** Calls of a trace in which those of a turn are looked for. */
const maxTraceCalls = 2_000
/** Calls of a turn whose messages are read. */
const maxRead = 60

/** What one turn says that those before it did not. */
export interface TurnContent extends Conversation {
  isNewStart: boolean
  tokens: { input: number; output: number } | undefined
  cost: number | undefined
  /** Calls below the turn that failed. */
  failed: number
  /** Calls of models, tools and agents that are not shown. */
  leftOut: number
}

type Turn = Pick<LightCall, 'id' | 'trace_id'>

interface TurnCalls {
  branch: Branch
  payloads: Map<string, JsonNode>
  leftOut: number
  /** What the turn says, together with everything that its requests repeat. */
  after: Before
}

export async function readTurnCalls(project: string, turn: Turn, signal: AbortSignal): Promise<TurnCalls> {
  const rows = await readTrace(project, turn.trace_id, signal, undefined, maxTraceCalls)
  const all = linesOf(treeOf(rows, Date.now()), new Set())
  const branch = all.find(({ row }) => row.id === turn.id) ?? aloneOf(turn)
  const speaking = linesOf([branch], new Set()).filter((each) => each === branch || speaks(each.row))
  const ids = speaking.slice(0, maxRead).map(({ row }) => row.id)
  const payloads = await readPayloads(project, ids, signal, [
    ...['attributes', 'exception', 'op_name', 'display_name'],
  ])
  const { after } = turnOf(callIn(branch, payloads), nothingBefore)
  return { branch, payloads, leftOut: speaking.length - ids.length, after }
}

const speaks = ({ kind }: TraceCall): boolean => kind !== null && kind !== 'retrieval'

/** Its trace has more calls before it than are read. */
const aloneOf = ({ id }: Turn): Branch => ({
  ...{ row: { id } as TraceCall, depth: 0, start: 0, end: 0, children: [], within: 0 },
  ...{ isFailedBelow: false, tokens: undefined, cost: undefined },
})

/** `last` are the calls of the turn before: a request repeats what that said. */
export function contentOf(
  { branch, payloads, leftOut }: TurnCalls,
  last: TurnCalls | undefined,
): TurnContent {
  const { asked, answered, isNewStart } = turnOf(callIn(branch, payloads), last?.after ?? nothingBefore)
  return {
    ...{ asked, answered, isNewStart, leftOut },
    tokens: tokensOfTrace([branch]),
    cost: costOfTrace([branch]),
    failed: linesOf(branch.children, new Set()).filter(({ row }) => row.status === 'error').length,
  }
}

type TurnCall = Parameters<typeof turnOf>[0]

function callIn({ row, children }: Branch, payloads: Map<string, JsonNode>): TurnCall {
  const node = payloads.get(row.id)
  const json = (name: string) => {
    const found = nodeAt(node, name)
    return found && sourceOf(found)
  }
  return {
    ...{ inputs: json('inputs'), output: json('output'), attributes: json('attributes') },
    name: stringOf(nodeAt(node, 'display_name')) ?? stringOf(nodeAt(node, 'op_name')),
    exception: stringOf(nodeAt(node, 'exception')),
    children: spokenBelow(children, payloads).map((child) => callIn(child, payloads)),
  }
}

/** The nearest calls below that are read. */
const spokenBelow = (children: readonly Branch[], payloads: Map<string, JsonNode>): Branch[] =>
  children.flatMap((child) => (payloads.has(child.row.id) ? [child] : spokenBelow(child.children, payloads)))
