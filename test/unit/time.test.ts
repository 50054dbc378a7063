import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatTime, parseTime } from '../../src/domain/time.ts'

test('ISO 8601 with any offset becomes microseconds', () => {
  const cases: [string, number][] = [
    ['1970-01-01T00:00:00Z', 0],
    ['2026-01-02T03:04:05Z', 1_767_323_045_000_000],
    ['2026-01-02T03:04:05.123456Z', 1_767_323_045_123_456],
    ['2026-01-02T03:04:05.123456000Z', 1_767_323_045_123_456],
    ['2026-01-02T03:04:05,5z', 1_767_323_045_500_000],
    ['2026-01-02T04:04:05.12+01:00', 1_767_323_045_120_000],
    ['2026-01-01 21:34:05-0530', 1_767_323_045_000_000],
    ['2026-01-02t03:04+00', 1_767_323_040_000_000],
    ['2026-01-02T03:04:05', 1_767_323_045_000_000],
    ['2026-01-02', 1_767_312_000_000_000],
    ['2024-02-29', 1_709_164_800_000_000],
    ['1969-12-31T23:59:59.999999Z', -1],
  ]
  for (const [text, micros] of cases) assert.equal(parseTime(text), micros, text)
})

test('invalid times are refused rather than guessed', () => {
  const texts = [
    '',
    'now',
    '5',
    '2026',
    '2026-13-01',
    '2026-02-30',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:60:00Z',
  ]
  const more = [
    '2026-01-02T03:04:60Z',
    '2026-01-02T03:04:05.1234567Z',
    '2026-01-02T03:04:05+24:00',
    '2026-1-2',
    '9999-01-01',
  ]
  for (const text of [...texts, ...more, '0001-01-01T00:00:00Z', '2026-01-02T03:04:05Z ']) {
    assert.equal(parseTime(text), undefined, text)
  }
})

test('a fraction is written if there is one, with three to six digits', () => {
  const cases: [number, string][] = [
    [1_767_323_045_000_000, '2026-01-02T03:04:05Z'],
    [1_767_323_045_100_000, '2026-01-02T03:04:05.100Z'],
    [1_767_323_045_123_000, '2026-01-02T03:04:05.123Z'],
    [1_767_323_045_123_400, '2026-01-02T03:04:05.1234Z'],
    [1_767_323_045_000_001, '2026-01-02T03:04:05.000001Z'],
    [-1, '1969-12-31T23:59:59.999999Z'],
  ]
  for (const [micros, text] of cases) assert.equal(formatTime(micros), text)
})

test('a time that was written is read back', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (micros) => {
      assert.equal(parseTime(formatTime(micros)), micros)
    }),
    { seed: 20260131, numRuns: 1_000 },
  )
})
