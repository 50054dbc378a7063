import { ask } from './answers.ts'
import { project } from './calls.ts'
import type { Contestant } from './contestants.ts'

const aboutCall = `weave:///${project}/call/01a3f0c2-5b7e-7c11-9f43-2d6c1b0e8a55`

/** A kind of feedback of our own, with a payload of about 300 bytes. */
export const feedback = JSON.stringify({
  project_id: project,
  svc_ref: aboutCall,
  feedback_type: 'bench.rating',
  creator: 'a reader',
  payload: {
    stars: 4,
    helpful: true,
    reasons: ['on the point', 'names its source', 'a little long'],
    comment:
      'It answers what was asked and says where it has that from. The second paragraph could go: who asks for the capital of a country does not want its history.',
    page: { locale: 'en-GB', build: 1742, seconds_open: 37.25 },
  },
})

/** A feedback that is checked against a spec, which is stored on the server first. */
export async function annotation(server: Contestant): Promise<string> {
  const field_schema = {
    type: 'object',
    properties: {
      grade: { type: 'integer', minimum: 1, maximum: 5 },
      reason: { type: 'string', maxLength: 1024 },
      tags: { type: 'array', items: { enum: ['correct', 'complete', 'polite', 'long'] }, uniqueItems: true },
    },
    required: ['grade', 'reason'],
    additionalProperties: false,
  }
  const obj = {
    project_id: project,
    object_id: 'quality',
    builtin_object_class: 'AnnotationSpec',
    val: { name: 'quality', description: 'How good an answer is', field_schema },
  }
  const { digest } = await ask<{ digest: string }>(server, '/obj/create', { obj })
  return JSON.stringify({
    project_id: project,
    svc_ref: aboutCall,
    feedback_type: 'wandb.annotation.quality',
    annotation_ref: `weave:///${project}/object/quality:${digest}`,
    payload: {
      value: {
        grade: 4,
        reason:
          'It answers what was asked and says where it has that from, and the second paragraph could go.',
        tags: ['correct', 'complete', 'long'],
      },
    },
  })
}
