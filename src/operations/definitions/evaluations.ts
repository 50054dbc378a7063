import { z } from 'zod'
import { createdWith, EvaluationBody, EvaluationRecord } from './contract.ts'
import { createdAnswer, createOfClass, definitionKind, memberOf, namedFields, refOf } from './kind.ts'

/** An evaluation says which dataset and which scorers. */
export const evaluations = definitionKind({
  path: 'evaluations',
  noun: 'evaluation',
  filter: { base_object_classes: ['Evaluation'] },
  body: EvaluationBody,
  created: createdWith({ evaluation_ref: z.string() }),
  record: EvaluationRecord,
  async create(options, place, body) {
    const evaluation = await createOfClass(options, place, body.name, 'Evaluation', {
      name: body.name,
      description: body.description ?? null,
      dataset: body.dataset,
      scorers: body.scorers ?? [],
      trials: body.trials ?? 1,
      evaluation_name: body.evaluation_name ?? null,
      eval_attributes: body.eval_attributes ?? null,
    })
    return { ...createdAnswer(evaluation), evaluation_ref: refOf(options, place, evaluation) }
  },
  async describe(_, version, val) {
    return {
      ...namedFields(version, val),
      dataset: memberOf(val, 'dataset'),
      scorers: memberOf(val, 'scorers'),
      trials: memberOf(val, 'trials'),
      evaluation_name: val.member('evaluation_name')?.string ?? null,
      eval_attributes: memberOf(val, 'eval_attributes'),
    }
  },
})
