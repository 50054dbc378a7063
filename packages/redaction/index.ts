/** Private values in texts and JSON, found and replaced in linear time: see README.md. */

export type { PathRule } from './paths.ts'
export { PatternError, patternFinder } from './pattern.ts'
export { createRedactor, type Kind, kinds, type Redaction, type Redactor } from './redactor.ts'
