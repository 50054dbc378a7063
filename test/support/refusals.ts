import assert from 'node:assert/strict'
import { EngineError } from '../../packages/engine/index.ts'
import { Refusal, type RefusalCode } from '../../src/domain/refusals.ts'

/** For assert.rejects: the refusal with this code, or the engine's error, and nothing else. */
export function refusedWith(code: RefusalCode): (error: unknown) => true {
  return (error) => {
    assert.ok(
      error instanceof Refusal || error instanceof EngineError,
      `expected the refusal ${code}, got ${String(error)}`,
    )
    assert.equal(error.code, code)
    return true
  }
}
