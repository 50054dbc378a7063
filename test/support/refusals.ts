import assert from 'node:assert/strict'
import { Refusal, type RefusalCode } from '../../src/domain/refusals.ts'

/** For assert.rejects: the refusal with this code and nothing else. */
export function refusedWith(code: RefusalCode): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Refusal, `expected the refusal ${code}, got ${String(error)}`)
    assert.equal(error.code, code)
    return true
  }
}
