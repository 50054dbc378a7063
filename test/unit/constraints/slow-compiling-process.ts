import type { CompileQuestion } from '../../../src/inference/constraints/constraint.ts'
import { answerParent } from '../../../src/threads/process.ts'

/** Compiles everything to a grammar with the name of its field, but never finishes a regex or a grammar. */

answerParent(({ constraint, field }: CompileQuestion) => {
  if (constraint.kind === 'regex') for (;;);
  if (constraint.kind === 'choice') throw new Error('a fault')
  const all: unknown[] = []
  if (constraint.kind === 'grammar') for (;;) all.push(new Array(10_000).fill(field))
  const none = new Int32Array()
  return {
    grammar: { digest: field, start: 0, nodes: none, lists: none, text: '' },
    widened: [],
    bytes: 1,
    notes: [],
  }
})
