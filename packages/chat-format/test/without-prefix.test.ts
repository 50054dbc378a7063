import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alternatives, type Expr, literal } from '../../constraints/index.ts'
import { path } from '../grammar/paths.ts'
import { withoutPrefix } from '../grammar/without-prefix.ts'

/** A path of one text that leads to a mark. */
function markOf(text: string) {
  return Array.from(text).reduceRight(
    (next, character) => path([[character.codePointAt(0) ?? 0, next]]),
    path([], literal('!')),
  )
}

function statesOf(...texts: string[]): { states: number; characters: number; rules: Map<string, Expr> } {
  const rules = new Map<string, Expr>()
  withoutPrefix(alternatives(...texts.map(literal)), markOf('<call>'), 'content', rules)
  return { states: rules.size, characters: JSON.stringify([...rules]).length, rules }
}

test('each space before a short text is a state', () => {
  assert.equal(statesOf(`${' '.repeat(500)}x`, 'y').states, 500)
})

test('a text that begins with a million spaces is left out before its states take the memory', () => {
  const { states, characters, rules } = statesOf(`${' '.repeat(1_000_000)}x`, 'y')
  assert.ok(states < 10, `${states} states`)
  assert.ok(characters < 10_000, `${characters} characters`)
  assert.match(JSON.stringify([...rules]), /"text":"y"/)
})
