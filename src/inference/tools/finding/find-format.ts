import type { AnswerFormat, OwnFormat } from '../../answer-format.ts'
import { hermes } from '../call-format.ts'
import { findCalls } from './find-calls.ts'
import { findReasoning } from './find-reasoning.ts'
import { probeCalls, probeNames } from './probe-calls.ts'
import { disproof } from './proof.ts'
import { createTurnProbe, type Render } from './turns.ts'

export interface Finding {
  /** Renders with the template in question. */
  render: Render
  template: string
  /** Whether there is time for another rendering of the proof. */
  hasTime(): boolean
}

/** How a model writes thoughts and calls, read off its template. The template is asked, not recognised by its name. */
export function findFormat({ render, template, hasTime }: Finding): AnswerFormat {
  const probe = createTurnProbe(render, probeNames)
  const reasoning = findReasoning(probe, template)
  const thoughts = reasoning && { reasoning }
  const own = ownOf(probe.callsOf(probeCalls([{ kzA: 'vzAx' }])))
  if (own !== undefined) return { ...thoughts, calls: { own }, proof: 'own' }
  const generic = (note: string): AnswerFormat => ({ ...thoughts, calls: hermes, proof: 'generic', note })
  const found = findCalls(probe, reasoning)
  if (found === undefined) return generic('the template shows no calls of tools')
  const wrong = disproof(probe, found.format, { isText: found.isText, names: probeNames, until: hasTime })
  if (wrong !== undefined) return generic(`the template shows calls that cannot be read back: ${wrong}`)
  return { ...thoughts, calls: found.format, proof: 'proven' }
}

/** Formats that literals with holes cannot describe. */
function ownOf(text: string | undefined): OwnFormat | undefined {
  if (text === undefined) return undefined
  if (text.includes('to=functions.') && text.includes('<|channel|>')) return 'harmony'
  if (text.includes(']<]minimax[>[')) return 'minimax-m3'
  if (text.includes('function call<|role_sep|>')) return 'gigachat'
  return undefined
}
