/** What runs in the process of an engine: from logits to an answer. */

export { checkFirstToken, createChoice, planAnswer } from './answer/choice.ts'
export { constraintOf } from './answer/generation-constraint.ts'
export { createRunEvents } from './events/run-events.ts'
export { promptKeyOf } from './loop/admission.ts'
export { checkGeneration, checkTokens } from './loop/checks.ts'
export { loadModel } from './native/native.ts'
export { hiddenParts } from './native/text-pieces.ts'
