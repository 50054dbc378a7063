import * as weave from 'weave'

const project_id = process.env.PROJECT as string
const { traceServerApi: api } = await weave.init(project_id)

async function refusalOf(answer: Promise<unknown>) {
  try {
    await answer
    return { status: 200 }
  } catch (thrown) {
    if (!(thrown instanceof Response)) return { thrown: String(thrown) }
    return { status: thrown.status, error: (thrown as Response & { error: unknown }).error }
  }
}

const done = [
  await refusalOf(api.call.callReadCallReadPost({ project_id, id: '019a9c1e-7a00-7000-8000-000000000001' })),
  await refusalOf(
    api.feedback.feedbackCreateFeedbackCreatePost({
      project_id,
      weave_ref: `weave:///${project_id}/call/019a9c1e-7a00-7000-8000-000000000001`,
      feedback_type: 'wandb.note.1',
      payload: { note: 'hello' },
    }),
  ),
]
export type Done = typeof done
console.log(JSON.stringify(done))
