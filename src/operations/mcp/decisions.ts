import { z } from 'zod'
import type { DecisionAnswer } from '../decisions/contract.ts'
import { fitting, head, withoutNulls } from './fitting.ts'
import { cut, project, rows, tool } from './tool.ts'

const option = z.string().max(1_024)

export const askDecision = tool({
  name: 'ask_decision',
  title: 'Ask a model to decide',
  description:
    'Ask a served model yes/no (predicate), one of several (choice) or a level (score) about a text: fast, with probabilities.',
  input: z.strictObject({
    model: z.string().max(512).optional(),
    project: project.optional(),
    input: z.string().min(1).max(1_000_000),
    questions: z
      .array(
        z.strictObject({
          type: z.enum(['predicate', 'choice', 'score']),
          name: z.string().max(200).optional(),
          instructions: z.string().min(1).max(65_536),
          choices: z.array(option).max(255).optional(),
          levels: z.array(option).max(10).optional(),
        }),
      )
      .min(1)
      .max(20),
  }),
  output: z.object({ model: z.string(), answers: rows, cut }),
  // It costs tokens, and is recorded.
  changes: { isRepeatable: true },
  async run(asking, { project, questions, ...rest }) {
    const headers = project === undefined ? undefined : { 'x-heddle-project': project }
    const body = {
      ...rest,
      questions: questions.map(({ choices, levels, ...question }) => ({
        ...question,
        ...(choices && { choices: choices.map((value) => ({ value })) }),
        ...(levels && { levels: levels.map((label) => ({ label })) }),
      })),
    }
    const { model, answers } = await asking.post<DecisionAnswer>('/v1/decisions', body, headers)
    const all = answers.map(({ type, name, probability, choice, score, confidence, probabilities }) =>
      withoutNulls({
        type,
        name,
        probability,
        choice: typeof choice === 'string' ? head(choice, 200) : choice,
        score,
        confidence,
        likeliest: probabilities
          ?.toSorted((a, b) => b.probability - a.probability)
          .slice(0, 5)
          .map(({ value, label, probability: share }) =>
            withoutNulls({
              value: typeof value === 'string' ? head(value, 100) : value,
              label,
              probability: share,
            }),
          ),
      }),
    )
    const shown = fitting(all, {})
    return {
      model,
      answers: shown,
      ...(shown.length < all.length && { cut: `${all.length - shown.length} answers: ask fewer` }),
    }
  },
})
