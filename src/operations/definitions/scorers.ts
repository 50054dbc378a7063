import { z } from 'zod'
import { createdWith, ScorerBody, ScorerRecord } from './contract.ts'
import { createdAnswer, createOfClass, definitionKind, namedFields, objectIdOf, refOf } from './kind.ts'
import { createOp } from './ops.ts'

/** A scorer is an op that scores, under a name. */
export const scorers = definitionKind({
  path: 'scorers',
  noun: 'scorer',
  filter: { base_object_classes: ['Scorer'] },
  body: ScorerBody,
  created: createdWith({ scorer: z.string().meta({ description: 'The reference to it.' }) }),
  record: ScorerRecord,
  async create(options, place, { name, description, op_source_code }) {
    objectIdOf(name)
    const op = await createOp(options, place, `${name}.score`, op_source_code)
    const scorer = await createOfClass(options, place, name, 'Scorer', {
      name,
      description: description ?? null,
      score: refOf(options, place, op),
    })
    return { ...createdAnswer(scorer), scorer: refOf(options, place, scorer) }
  },
  async describe(_, version, val) {
    return { ...namedFields(version, val), score_op: val.member('score')?.string ?? null }
  },
})
