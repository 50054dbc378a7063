/** The feedback of a judge about a call: 0.1 of 1. */
export const failingScore = (project: string, call: string) => ({
  weave_ref: `weave:///${project}/call/${call}`,
  feedback_type: 'wandb.runnable.judge',
  payload: { output: { score: 0.1 } },
  runnable_ref: `weave:///${project}/op/judge:${'a'.repeat(43)}`,
  call_ref: `weave:///${project}/call/${call}`,
})

/** The condition that such a score meets. */
export const failingCondition = {
  on: 'score',
  score: { scorer: 'judge', path: 'score', below: 0.5 },
}
