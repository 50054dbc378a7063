import { wordsOf } from '../automaton/automaton.ts'
import type { NumberDemands } from '../numbers/number-ranges.ts'
import { arrayDemands } from './arrays.ts'
import { type Case, constants, type TypeName, typesOf } from './cases.ts'
import type { Emission } from './emission.ts'
import { numberDemands } from './number-demands.ts'
import { objectParts } from './objects.ts'
import type { SchemaNode } from './schema-document.ts'
import { stringAutomaton } from './strings.ts'
import { canonicalOf } from './values.ts'

const deepest = 4

/** Whether at least `count` different values fit these schemas; false if that is not certain. */
export function hasAtLeast(
  nodes: readonly SchemaNode[],
  count: number,
  emission: Emission,
  depth = deepest,
): boolean {
  emission.budget.spend(1)
  if (depth === 0) return false
  const listed = new Set<string>()
  for (const option of emission.cases.of(nodes)) {
    const { bases, values } = option
    for (const value of values ?? []) listed.add(canonicalOf(value))
    if (listed.size >= count) return true
    if (values !== undefined) continue
    for (const type of typesOf(bases)) {
      for (const value of constants(bases, type)) listed.add(canonicalOf(value))
      if (listed.size >= count || has(type, option, nodes.length, count, emission, depth)) return true
    }
  }
  return false
}

function has(
  type: TypeName,
  { bases }: Case,
  asked: number,
  count: number,
  emission: Emission,
  depth: number,
): boolean {
  switch (type) {
    case 'string': {
      const automaton = stringAutomaton(bases, emission.texts)
      return automaton === undefined || wordsOf(automaton, count - 1) === undefined
    }
    case 'integer':
    case 'number':
      return hasNumbers(numberDemands(bases, type === 'integer'), count)
    case 'array': {
      const { prefix, rest, max, min, contains, unique } = arrayDemands(bases, emission)
      if (contains.length > 0 || max === 0) return max === 0 && min === 0 && count <= 1
      // Each of this many values can come first.
      if (unique !== undefined) {
        return prefix.length === 0 && hasAtLeast(rest, Math.max(count, min), emission, depth - 1)
      }
      for (let index = 0; index < Math.min(min, prefix.length + 1); index++) {
        if (!hasAtLeast(prefix[index] ?? rest, 1, emission, depth - 1)) return false
      }
      if (max === Number.POSITIVE_INFINITY && prefix.length === 0) {
        return hasAtLeast(rest, 1, emission, depth - 1)
      }
      return hasAtLeast(prefix[0] ?? rest, count, emission, depth - 1)
    }
    case 'object': {
      const object = objectParts(bases, asked, emission)
      if (object === undefined) return false
      const { members, others, counts } = object
      const required = members.filter((member) => member.required)
      if (!required.every(({ nodes }) => hasAtLeast(nodes, 1, emission, depth - 1))) return false
      if (required.some(({ nodes }) => hasAtLeast(nodes, count, emission, depth - 1))) return true
      if (counts.min > required.length || counts.max <= required.length) return false
      return [...members, ...others].some(({ nodes }) => hasAtLeast(nodes, count, emission, depth - 1))
    }
    default:
      return false
  }
}

function hasNumbers(
  { integer, least, most, steps, avoided, excluded, fractional }: NumberDemands,
  count: number,
): boolean {
  if (avoided.length > 0 || fractional || steps.length > 1) return false
  if (least === undefined || most === undefined) return steps.length === 0 || count < 1_000_000
  const number = ({ value: { units, scale } }: { value: { units: bigint; scale: number } }) =>
    Number(units) / 10 ** scale
  const width = number(most) - number(least)
  const [step] = steps
  const unit = step === undefined ? (integer ? 1 : 0) : Math.max(number({ value: step }), integer ? 1 : 0)
  if (unit === 0) return width > 0
  // A step that is not a whole number leaves fewer whole numbers.
  if (integer && step !== undefined && step.scale > 0) return false
  return Math.floor(width / unit) - 1 - excluded.length >= count
}
