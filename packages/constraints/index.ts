/**
 * JSON Schema, regular expressions, grammars and lists of texts as token masks for the vocabulary of a language model.
 * Everyday use needs `compile`, `faultOf` and `createConstraints`: see README.md. The rest is for samplers that exclude
 * texts (mask/), and for formats that embed schemas (automaton/, grammar/, regex/, schema/).
 */

export {
  type Automaton,
  accepts,
  difference,
  type Edge,
  everyCodePoint,
  isEmpty,
  lengths,
  smallest,
  trimmed,
} from './automaton/automaton.ts'
export { automatonOf } from './automaton/determinise.ts'
export {
  type ConstraintOptions,
  type ConstraintSource,
  checkDepth,
  compile,
  createConstraintBudget,
  faultOf,
  grammarOf,
  schemaSettings,
} from './compile.ts'
export { controlTokensOf, type Markers, markersOf } from './control-tokens.ts'
export { type Budget, BudgetExceededError, createBudget } from './grammar/budget.ts'
export { choiceGrammar } from './grammar/choice.ts'
export { type CompiledGrammar, nodeKinds, numbersOfNode, sizeOfGrammar } from './grammar/compiled-grammar.ts'
export {
  ConstraintError,
  ContinuedTextError,
  type Fault,
  grammarTooLarge,
  RegexError,
  SchemaError,
  WhitespaceError,
} from './grammar/errors.ts'
export {
  alternatives,
  charClass,
  complement,
  type Expr,
  emptyText,
  type Grammar,
  isNever,
  literal,
  never,
  optional,
  type Range,
  repetition,
  rule,
  sequence,
  trieOf,
  united,
} from './grammar/expressions.ts'
export { givenGrammar, givenPiece } from './grammar/gbnf-reader.ts'
export { hasMarks, isMark } from './grammar/marks.ts'
export { createMatcher, type GrammarMatcher, type Position } from './grammar/matcher.ts'
export { packGrammar } from './grammar/pack.ts'
export { isSymbol, marked, ofPoints, otherControlToken, pointsOf, symbolOfMarker } from './grammar/symbols.ts'
export {
  createUniqueItemMatcher,
  type UniqueItemMatcher,
  type UniqueItemPosition,
} from './grammar/unique-item-matcher.ts'
export { checkWidth } from './grammar/width.ts'
export { createGroupCache, rememberByGroup } from './group-cache.ts'
export type { AvoidedTexts } from './mask/avoided-texts.ts'
export { createAvoidingTokens } from './mask/avoiding-tokens.ts'
export type { ContinuedText } from './mask/continued.ts'
export {
  type Allowance,
  type Constraint,
  type Constraints,
  createConstraints,
  type Spacing,
} from './mask/matched-constraints.ts'
export { createMasks, type Masks } from './mask/token-masks.ts'
export { orderTokens, type TokenOrder } from './mask/token-order.ts'
export type { TokenTrie } from './mask/token-trie.ts'
export { sliceVocabulary } from './mask/vocabulary-slices.ts'
export { compileRegex } from './regex/regex.ts'
export { regexGrammar, wholeMatch } from './regex/regex-grammar.ts'
export { maxInAnyOrder } from './schema/any-order.ts'
export { arrayDemands } from './schema/arrays.ts'
export { valuesOf } from './schema/cases.ts'
export type { Emission } from './schema/emission.ts'
export { formats, numberFormats } from './schema/formats/formats.ts'
export { inJsonString } from './schema/json-characters.ts'
export { isRecord, keywords } from './schema/keywords.ts'
export { objectParts } from './schema/objects.ts'
export { countsOf, type SchemaNode } from './schema/schema-document.ts'
export { addSchema, addWritten, type SchemaSettings } from './schema/schema-grammar.ts'
export { someMembers } from './schema/some-member.ts'
export { runOf, stringAutomaton } from './schema/strings.ts'
export { isInMask, type TokenMask, type TokenRule } from './token-rule.ts'
export type { Vocabulary } from './vocabulary.ts'
