import {
  type Decided,
  type DecisionBounds,
  decidedIn,
  decisionOp,
  pickedAnswer,
} from '../../domain/decided.ts'
import { asText } from '../../domain/json/text.ts'
import type { CallPart } from '../calls/parts.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import type { EndedCall } from './guards.ts'

/** Of an output. What hundreds of questions with hundreds of choices give is longer, and not looked at: it would delay every write. */
const maxBytes = 1_048_576
/** The longest text of an answer in a message. */
const maxText = 200

/** A typed decision that has ended, and what it answered. */
export interface DecidedCall {
  id: string
  call: EndedCall
  answers: readonly Decided[]
}

/** The decisions among calls that were written. Of one that came in parts, the output is read from the record. */
export async function decidedAmong(
  tx: Transaction,
  project: string,
  ended: readonly EndedCall[],
  written: readonly CallPart[],
): Promise<DecidedCall[]> {
  const decisions = ended.filter(({ op_name, status }) => op_name === decisionOp && status === 'success')
  if (decisions.length === 0) return []
  const outputs = new Map<string, string>()
  const others = new Set(decisions.map(({ id }) => id))
  for (const { id, end } of written) {
    if (end === undefined || !others.delete(id)) continue
    if (end.output != null && end.end_bytes <= maxBytes) outputs.set(id, asText(end.output))
  }
  if (others.size > 0) {
    const rows = await tx.all<{ id: string; output: string | null }>(
      sql`SELECT id, ${tx.dialect.stored(rawSql('output'))} AS output FROM calls
          WHERE project_id = ${project} AND id IN (${listOf([...others])}) AND end_bytes <= ${maxBytes}`,
    )
    for (const { id, output } of rows) if (output !== null) outputs.set(id, output)
  }
  return decisions.flatMap((call) => {
    const answers = decidedIn(outputs.get(call.id) ?? 'null')
    return answers.length === 0 ? [] : [{ id: call.id, call, answers }]
  })
}

const shortened = (text: string | null) =>
  text && (text.length > maxText ? `${text.slice(0, maxText)}…` : text)

/** What a message says of the first answer that the bounds pick, and how many they pick; undefined if none. */
export function aboutDecision(bounds: DecisionBounds, { answers }: Pick<DecidedCall, 'answers'>) {
  const picked = answers.flatMap((decided) => {
    const answer = pickedAnswer(bounds, decided)
    return answer === undefined ? [] : [{ question: decided.question, answer }]
  })
  const [first] = picked
  if (first === undefined) return undefined
  const { question, answer } = first
  const [label, probability] = answer
  return { question: shortened(question), answer: shortened(label), probability, picked: picked.length }
}
