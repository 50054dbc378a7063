import type { ElementArguments } from '../call-format.ts'
import type { FoundCalls } from './found-calls.ts'
import { probeCalls } from './probe-calls.ts'
import { callFormat, literalsOf, skeletonOf } from './skeleton.ts'
import type { TurnProbe } from './turns.ts'

const values = { kzA: 'vzAx', kzB: { ozA: ['azA', 'azB'] } }

/** Finds arguments that are elements with nested elements. */
export function findElements(probe: TurnProbe): FoundCalls | undefined {
  const text = probe.callsOf(probeCalls([values]))
  const [, prefix] = /(\S*)<kzA>vzAx\1<\/kzA>/.exec(text ?? '') ?? []
  if (text === undefined || prefix === undefined) return undefined
  const [, item] = /<([^\s<>/]+)>azA/.exec(text) ?? []
  if (item === undefined) return undefined
  const element = (name: string, inner: string) => `${prefix}<${name}>${inner}${prefix}</${name}>`
  const written =
    element('kzA', values.kzA) +
    element('kzB', element('ozA', values.kzB.ozA.map((text) => element(item, text)).join('')))

  function told(count: number) {
    const calls = probeCalls(Array.from({ length: count }, () => values))
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
