import { JsonText, writeJson } from '../../domain/json/text.ts'
import { textOf } from './attribute-values.ts'
import { type Attributes, SpanError, type Value } from './span.ts'

export const evaluationEvent = 'gen_ai.evaluation.result'

/** A judgement on a call, which becomes feedback. */
export interface Evaluation {
  name: string
  /** The id of the judged call, or the id of its answer. */
  call: string | undefined
  response: string | undefined
  payload: JsonText
  /** Nanoseconds: the same result at another time is another one. */
  time: string
}

const maxName = 128

/** The event of OpenTelemetry's conventions, in a log record or in a span (semantic-conventions-genai, gen-ai-events.md). */
export function evaluationOf(attributes: Attributes, call: string | undefined, time: bigint): Evaluation {
  const name = textOf(attributes, 'gen_ai.evaluation.name')
  if (name === undefined || name.length > maxName) {
    throw new SpanError(`gen_ai.evaluation.name: expected a name of 1 to ${maxName} characters`)
  }
  const members: [string, Value | undefined][] = [
    ['score', attributes.get('gen_ai.evaluation.score.value')],
    ['label', attributes.get('gen_ai.evaluation.score.label')],
    ['explanation', attributes.get('gen_ai.evaluation.explanation')],
    ['error', attributes.get('error.type')],
  ]
  const output = Object.fromEntries(members.filter(([, value]) => value !== undefined && value !== ''))
  const response = textOf(attributes, 'gen_ai.response.id')
  return { name, call, response, payload: new JsonText(writeJson({ output })), time: String(time) }
}

/** Those of the whole trace or session begin otherwise. */
const flattened =
  /^(evaluations|annotations)\.(\d+)\.(?:evaluation|annotation)\.(name|score|label|explanation)$/
const scored: { [name: string]: string } = { score: 'score.value', label: 'score.label' }

/** The judgements that OpenInference has in attributes of the judged span, by the names of the event. */
export function flattenedEvaluations(attributes: Attributes): Attributes[] {
  const found = new Map<string, Map<string, Value>>()
  for (const [key, value] of attributes) {
    const [, list, index, name = ''] = flattened.exec(key) ?? []
    if (list === undefined) continue
    const judgement = found.get(`${list} ${index}`) ?? new Map<string, Value>()
    found.set(`${list} ${index}`, judgement.set(`gen_ai.evaluation.${scored[name] ?? name}`, value))
  }
  return [...found.values()]
}
