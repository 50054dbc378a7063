import type { CallFormat, Literal } from '../call-format.ts'
import { findObject } from './json-texts.ts'
import { type Literals, literalsOf, skeletonOf } from './skeleton.ts'
import { findTagged } from './tagged.ts'
import type { ProbeCall, TurnProbe } from './turns.ts'

export const probeNames = ['qzfA', 'qzfB', 'qzfC']
const ids = ['qzidAAAA1', 'qzidBBBB2', 'qzidCCCC3']

export interface FoundCalls {
  format: CallFormat
  /** The template takes the arguments as the text of an object. */
  isText: boolean
}

/** Undefined where the template shows no calls, or writes them in a way that data cannot describe. */
export function findCalls(probe: TurnProbe): FoundCalls | undefined {
  for (const isText of [false, true]) {
    const format = findJson(probe, isText) ?? (isText ? undefined : findTagged(probe, probeCalls))
    if (format !== undefined) return { format: { ...format, ids: idsOf(probe, isText) }, isText }
  }
  return undefined
}

/** So many calls with these arguments. */
export function probeCalls(given: readonly object[], isText = false): ProbeCall[] {
  return given.map((value, index) => ({
    id: ids[index] as string,
    name: probeNames[index] as string,
    arguments: isText ? JSON.stringify(value) : value,
  }))
}

const values = { kzA: 'vzAx', kzB: ['vzBx', { kzC: true }] }

function findJson(probe: TurnProbe, isText: boolean): CallFormat | undefined {
  let isQuoted = false
  function told(count: number) {
    const calls = probeCalls(Array.from({ length: count }, () => values), isText)
    const text = probe.callsOf(calls)
    const skeleton =
      text === undefined
        ? undefined
        : skeletonOf(text, calls, (whole, _call, from) => {
            const found = findObject(whole, values, from)
            isQuoted ||= found?.isQuoted === true
            return found
          })
    return skeleton && { calls, skeleton }
  }
  const one = told(1)
  if (one === undefined) return undefined
  // A template that raises or shows one call only has one call in a turn.
  const literals = literalsOf(one, told(3))
  return literals && callFormat(literals, { kind: 'json', isQuoted })
}

/** White space around the calls of a turn is nobody's concern. */
export function callFormat(literals: Literals, given: CallFormat['arguments']): CallFormat {
  const { counter, gap, mid } = literals
  const open = trimmed(literals.open, 'start')
  const close = trimmed(literals.close, 'end')
  const [first = ''] = open
  return {
    open,
    mid,
    arguments: given,
    ...(gap && { gap }),
    close,
    ...(counter && { counter: { ...counter, over: 'turn' } }),
    ids: 'any',
    isAnchored: open.length === 0 || (typeof first === 'string' && /^(\[\s*)?(\{\s*")?$/.test(first.replace(/name.*$|tool_name.*$|function.*$/s, ''))),
  }
}

function trimmed(literal: Literal, side: 'start' | 'end'): Literal {
  const at = side === 'start' ? 0 : literal.length - 1
  return literal
    .map((part, index) =>
      typeof part === 'string' && index === at ? (side === 'start' ? part.trimStart() : part.trimEnd()) : part,
    )
    .filter((part) => part !== '')
}

function idsOf(probe: TurnProbe, isText: boolean): 'any' | 'nine' {
  const [call] = probeCalls([values], isText)
  const own = { ...(call as ProbeCall), id: `chatcmpl-tool-${'0123456789abcdef'.repeat(2)}` }
  return probe.callsOf([own]) === undefined ? 'nine' : 'any'
}
