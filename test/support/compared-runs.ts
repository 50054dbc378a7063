import { completeOf, project } from './calls.ts'

/** Evaluations to compare: this many runs over this many rows, each row with a boolean, a number and a reason. */
export interface ComparedRuns {
  runs: number
  rows: number
  trials?: number
  /** Replaces every text of models, scorers and people. */
  text?: string
}

const hex = (kind: string, index: number) => `${kind}${String(index).padStart(15, '0')}`

export const runId = (run: number): string => hex('a', run)

const capitals = ['Chad', 'Peru', 'Mali', 'Oman', 'Laos', 'Togo', 'Cuba', 'Fiji']

/** A number between 0 and 1, the same for the same arguments. */
const chance = (run: number, row: number, trial: number) =>
  (((row + 1) * 7919 + (run + 1) * 104_729 * (row % 7) + trial * 31) % 1000) / 1000

export function comparedRuns({ runs, rows, trials = 1, text }: ComparedRuns): object[] {
  const calls: object[] = []
  for (let run = 0; run < runs; run++) {
    const id = runId(run)
    const at = (ms: number) => new Date(Date.UTC(2026, 0, 2 + run) + ms).toISOString()
    calls.push(
      completeOf({
        id,
        trace_id: id.repeat(2),
        op_name: 'Evaluation.evaluate',
        display_name: text ?? ['small, first try', 'small, longer prompt', 'large', 'large, cold'][run],
        started_at: at(0),
        ended_at: at(90_000),
        inputs: {
          self: `weave:///${project}/object/capitals:v0`,
          model: `weave:///${project}/object/small:v${run}`,
        },
        output: {},
        summary: { usage: { builtin: { prompt_tokens: 1200, completion_tokens: 300, total_tokens: 1500 } } },
      }),
    )
    for (let row = 0; row < rows; row++) {
      for (let trial = 0; trial < trials; trial++)
        calls.push(trialOf(run, row, trial, at, { rows, trials, text }))
    }
  }
  return calls
}

function trialOf(
  run: number,
  row: number,
  trial: number,
  at: (ms: number) => string,
  { rows, trials, text }: { rows: number; trials: number; text: string | undefined },
): object {
  const score = chance(run, row, trial)
  const country = capitals[row % capitals.length]
  const isWrong = score < 0.3
  return completeOf({
    id: hex('b', (run * rows + row) * trials + trial),
    trace_id: runId(run).repeat(2),
    parent_id: runId(run),
    op_name: 'Evaluation.predict_and_score',
    started_at: at(1000 + row * 10 + trial),
    ended_at: at(1500 + row * 10 + trial),
    exception: row === 3 && run === 1 ? 'TimeoutError: too slow' : null,
    inputs: {
      self: 'E',
      model: 'M',
      example: { question: text ?? `What is the capital of ${country}?`, row },
    },
    output: {
      output:
        text ??
        `The capital of ${country} is ${isWrong ? 'not known to me' : 'well known'}, ${run === 0 ? 'I think' : 'for certain'}.`,
      scores: {
        exact: !isWrong,
        // Some rows have no judge.
        ...((row + run) % 11 !== 0 && {
          judge: { score, reason: text ?? (isWrong ? 'It does not answer.' : 'It answers, and briefly.') },
        }),
      },
      model_latency: 0.25 + score,
    },
  })
}
