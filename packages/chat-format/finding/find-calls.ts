import type { CallFormat, ElementArguments } from '../call-format.ts'
import type { FoundCalls } from './found-calls.ts'
import { findObject } from './json-texts.ts'
import { type ProbeCall, probeCalls } from './probe-calls.ts'
import { callFormat, literalsOf, skeletonOf } from './skeleton.ts'
import { findTagged } from './tagged.ts'
import type { TurnProbe } from './turns.ts'

/**
 * `NAME(key='value', count=1)` is found as tagged arguments with a quote as a mark. The template may not escape the
 * quote, but a model that writes Python does.
 */
function asPython(format: CallFormat): CallFormat {
  const { arguments: form, mid } = format
  if (form.kind !== 'tagged' || mid.at(-1) !== '(') return format
  const { string, ...others } = form.values
  const isKeyword = Object.values(others).every(
    ({ before, mid: sign, after }) => before === '' && sign === '=' && after === '',
  )
  const quote = string.mid.slice(1)
  const isQuoted = quote === string.after && ['', "'", '"'].includes(quote)
  if (!isKeyword || !isQuoted || string.before !== '' || form.between.trim() !== ',') return format
  const isBare = format.open.length === 1 && /^\s*\[?\s*$/.test(String(format.open[0]))
  return {
    ...format,
    arguments: { kind: 'python', words: 'python' },
    isAnchored: format.isAnchored || isBare,
  }
}

/** Undefined if the template shows no calls, or writes them in a form that data cannot describe. */
export function findCalls(
  probe: TurnProbe,
  reasoning: { close: string } | undefined,
): FoundCalls | undefined {
  const json = findJson(probe, false)
  const found = json
    ? { format: json, isText: false, hasPlainNesting: true }
    : (findElements(probe) ?? findTagged(probe) ?? findText(probe))
  if (found === undefined) return undefined
  return {
    ...found,
    format: { ...asPython(withoutThought(found.format, reasoning)), ids: idsOf(probe, found.isText) },
  }
}

const nested = { kzA: 'vzAx', kzB: { ozA: ['azA', 'azB'] } }

/** Finds arguments that are elements with nested elements. */
function findElements(probe: TurnProbe): FoundCalls | undefined {
  const text = probe.callsOf(probeCalls([nested]))
  const [, prefix] = /(\S*)<kzA>vzAx\1<\/kzA>/.exec(text ?? '') ?? []
  if (text === undefined || prefix === undefined) return undefined
  const [, item] = /<([^\s<>/]+)>azA/.exec(text) ?? []
  if (item === undefined) return undefined
  const element = (name: string, inner: string) => `${prefix}<${name}>${inner}${prefix}</${name}>`
  const written =
    element('kzA', nested.kzA) +
    element('kzB', element('ozA', nested.kzB.ozA.map((text) => element(item, text)).join('')))

  function told(count: number) {
    const calls = probeCalls(Array.from({ length: count }, () => nested))
    const turn = probe.callsOf(calls)
    const skeleton =
      turn === undefined
        ? undefined
        : skeletonOf(turn, calls, (whole, _call, from) => {
            const start = whole.indexOf(written, from)
            return start === -1 ? undefined : { start, end: start + written.length }
          })
    return skeleton && { calls, skeleton }
  }
  const single = told(1)
  const literals = single && literalsOf(single, told(3))
  if (literals === undefined) return undefined
  const form: ElementArguments = { kind: 'elements', prefix, item }
  return { format: callFormat(literals, form), isText: false, hasPlainNesting: true }
}

/** A template that writes the members of an object does not expect a text. */
function findText(probe: TurnProbe): FoundCalls | undefined {
  if (probe.callsOf(probeCalls([values]))?.includes(values.kzA)) return undefined
  const format = findJson(probe, true)
  return format && { format, isText: true, hasPlainNesting: true }
}

/** Templates may show an empty thought before the calls of an earlier turn. */
function withoutThought(format: CallFormat, reasoning: { close: string } | undefined): CallFormat {
  const [first, ...rest] = format.open
  if (reasoning === undefined || typeof first !== 'string') return format
  const at = first.lastIndexOf(reasoning.close)
  if (at === -1) return format
  const open = [first.slice(at + reasoning.close.length).trimStart(), ...rest].filter((piece) => piece !== '')
  return { ...format, open }
}

const values = { kzA: 'vzAx', kzB: ['vzBx', { kzC: true }] }

function findJson(probe: TurnProbe, isText: boolean): CallFormat | undefined {
  let isQuoted = false
  function told(count: number) {
    const calls = probeCalls(
      Array.from({ length: count }, () => values),
      isText,
    )
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
  const single = told(1)
  if (single === undefined) return undefined
  // A template that raises an error or shows only one call has one call per turn.
  const literals = literalsOf(single, told(3))
  return literals && callFormat(literals, { kind: 'json', isQuoted })
}

function idsOf(probe: TurnProbe, isText: boolean): 'any' | 'nine' {
  const [call] = probeCalls([values], isText)
  const own = { ...(call as ProbeCall), id: `chatcmpl-tool-${'0123456789abcdef'.repeat(2)}` }
  return probe.callsOf([own]) === undefined ? 'nine' : 'any'
}
