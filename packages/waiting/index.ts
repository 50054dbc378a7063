/** Waiting that ends with its signal, and long work that lets others run: see README.md. */

export { whenAborted } from './aborting.ts'
export { createYieldToLoop, inSteps, type YieldToLoop, yieldBetweenPieces } from './yielding.ts'
