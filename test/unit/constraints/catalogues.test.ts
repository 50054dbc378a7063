import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeOfGrammar } from '../../../packages/constraints/index.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { callFormats } from '../../support/call-formats.ts'

const pair = {
  type: 'object',
  properties: { key: { type: 'string', maxLength: 200 }, value: { type: ['number', 'string'] } },
  required: ['key'],
}
const tools = Array.from({ length: 128 }, (_, at) => ({
  name: `service_${at % 16}_operation_${at}`,
  strict: false,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', maxLength: 100 + (at % 4) },
      pairs: { type: 'array', items: pair },
      note: { type: ['string', 'null'], format: 'date-time' },
    },
    required: ['path'],
  },
}))

test('the tools of a catalogue share the rules for strings of the same length, in every call format', () => {
  for (const [name, format] of Object.entries(callFormats)) {
    if (format.arguments.kind === 'json' && name !== 'hermes') continue
    const { grammar } = createConstraintCompiler().compile(
      { kind: 'turn', thought: 'over', calls: { format, tools, choice: 'auto', isParallel: true } },
      { whitespace: 'bounded' },
      'tools',
    )
    assert.ok(sizeOfGrammar(grammar) < 512 * 1024, `${name}: ${sizeOfGrammar(grammar)}`)
  }
})
