/** JSON whose digits, names and order are those of its text. */

export { canonicalJson, exactJson, floatText } from './canonical.ts'
export { compareText } from './code-points.ts'
export { JsonNumber, objectOf, parseLossless, revivedNumbers } from './lossless.ts'
export {
  compactJson,
  createNesting,
  hasMoreMarks,
  itemsOf,
  keptJson,
  membersOf,
  type Nesting,
  objectText,
  Scan,
  stringEnd,
} from './scan.ts'
