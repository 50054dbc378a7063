import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWhole } from '../../../test/support/campaign-share.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { changed, worldSchemas } from '../../../test/support/schemas/world-schemas.ts'
import { compile, createMatcher } from '../index.ts'

/** The most changes tried for one value, spread over all of its parts. */
const maxChanged = 60

const count = isWhole ? 300 : 60

/** The twin is validated in the latest draft, so it shares nothing with the code that reads old drafts. */
test(`${count} schemas in the styles of known programs compile and accept exactly the values that fit them`, () => {
  let invalid = 0
  for (const { name, schema, twin, value } of worldSchemas(count, 17)) {
    const judge = createAjvValidator(twin)
    const { grammar } = compile({ kind: 'json', schema }, { whitespace: 'none', additionalProperties: true })
    const following = createMatcher(grammar)
    const accepts = (candidate: unknown) => {
      let at: ReturnType<typeof following.after> = following.start
      for (const character of JSON.stringify(candidate)) {
        at = following.after(at, character.codePointAt(0) ?? 0)
        if (at === undefined) return false
      }
      return at.isComplete
    }
    const shown = (candidate: unknown) => `${name} ${JSON.stringify(schema)}: ${JSON.stringify(candidate)}`
    assert.equal(judge(value), true, shown(value))
    assert.ok(accepts(value), shown(value))
    const others = changed(value)
    const step = Math.ceil(others.length / maxChanged)
    for (const other of others.filter((_, i) => i % step === 0)) {
      const isValid = judge(other)
      assert.equal(accepts(other), isValid, shown(other))
      if (isValid === false) invalid++
    }
  }
  assert.ok(invalid > 10 * count, `${invalid} values that do not fit`)
})
