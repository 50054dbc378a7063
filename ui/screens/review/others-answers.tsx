import { draftOf } from '../../review/draft.ts'
import type { EarlierAnswer } from '../../server/reviews.ts'
import { type JsonNode, sourceOf, stringOf } from '../../value/json-index.ts'
import { earlierAnswerOf, type Question } from './questions.ts'

interface Props {
  question: Question
  /** The newest last. */
  answers: readonly EarlierAnswer[]
}

/** What each reviewer answered to a question, side by side, for the one who decides. */
export function OthersAnswers({ question, answers }: Props) {
  const users = [...new Set(answers.map(({ user }) => user))].sort()
  const cells = users.flatMap((user) => {
    const last = earlierAnswerOf(
      question,
      answers.filter((answer) => answer.user === user),
    )
    return last === undefined
      ? []
      : [{ user, text: labelOf(question, last.node) ?? stringOf(last.node) ?? sourceOf(last.node) }]
  })
  if (cells.length === 0) return null
  return (
    <div class="scrolled">
      <table class="table" aria-label={`Answers of reviewers: ${question.title}`}>
        <thead>
          <tr>
            {cells.map(({ user }) => (
              <th key={user} scope="col">
                {user}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            {cells.map(({ user, text }) => (
              <td key={user}>{text}</td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  )
}

/** Of a pair, the answer as this reader is shown it. */
function labelOf({ field, member }: Question, node: JsonNode): string | undefined {
  if (field.kind !== 'choice' || member !== 'preferred') return undefined
  const chosen = draftOf(field, node)
  return field.options.find(({ json }) => json === chosen)?.label
}
