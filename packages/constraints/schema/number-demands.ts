import { SchemaError } from '../grammar/errors.ts'
import { compareDecimals, type Decimal, decimalOf } from '../numbers/decimals.ts'
import { isSupportedStep } from '../numbers/multiples.ts'
import type { Bound, NumberDemands } from '../numbers/number-ranges.ts'
import { numberFormats } from './formats/formats.ts'
import { derived, excludedBy, type SchemaNode } from './schema-document.ts'

/** What all of these schemas together demand of a number. */
export function numberDemands(bases: readonly SchemaNode[], integer: boolean): NumberDemands {
  let least: Bound | undefined
  let most: Bound | undefined
  const steps: Decimal[] = []
  const avoided: Decimal[] = []
  const excluded: Decimal[] = []
  const raise = (value: Decimal | undefined, exclusive: boolean) => {
    if (value === undefined) return
    const order = least === undefined ? 1 : compareDecimals(value, least.value)
    if (order > 0 || (order === 0 && exclusive)) least = { value, exclusive }
  }
  const lower = (value: Decimal | undefined, exclusive: boolean) => {
    if (value === undefined) return
    const order = most === undefined ? -1 : compareDecimals(value, most.value)
    if (order < 0 || (order === 0 && exclusive)) most = { value, exclusive }
  }
  for (const base of bases) {
    const { schema, path } = base
    raise(decimalOf(schema.minimum), false)
    raise(decimalOf(schema.exclusiveMinimum), true)
    lower(decimalOf(schema.maximum), false)
    lower(decimalOf(schema.exclusiveMaximum), true)
    const format = typeof schema.format === 'string' ? schema.format : ''
    const [smallest, largest] = Object.hasOwn(numberFormats, format) ? (numberFormats[format] ?? []) : []
    if (smallest !== undefined && largest !== undefined) {
      raise({ units: BigInt(smallest), scale: 0 }, false)
      lower({ units: BigInt(largest), scale: 0 }, false)
      steps.push({ units: 1n, scale: 0 })
    }
    const step = decimalOf(schema.multipleOf)
    if (step !== undefined) {
      if (step.units <= 0n)
        throw new SchemaError('multipleOf', path, 'it takes a number above zero', 'invalid')
      if (!isSupportedStep(step)) throw new SchemaError('multipleOf', path, 'the step has too many digits')
      steps.push(step)
    }
    const without = decimalOf(schema[derived.notMultiple])
    if (without !== undefined) {
      if (!isSupportedStep(without)) throw new SchemaError('multipleOf', path, 'the step has too many digits')
      avoided.push(without)
    }
    for (const value of excludedBy(base)) {
      const decimal = decimalOf(value)
      if (decimal !== undefined) excluded.push(decimal)
    }
  }
  const ones = steps.filter(({ units, scale }) => !(units === 1n && scale === 0))
  const whole = integer || ones.length < steps.length
  const fractional = bases.some(({ schema }) => schema[derived.notInteger] === true)
  return { integer: whole, least, most, steps: ones, avoided, excluded, fractional }
}
