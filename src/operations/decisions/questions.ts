import { wrong } from '../../domain/refusals.ts'
import type { DecisionAsked, DecisionQuestion } from '../../inference/decisions/decision.ts'
import { maxChoices, maxLevels, maxQuestions, type Question } from './contract.ts'
import { textOf } from './input.ts'

const partsOfQuestions = ['input_text', 'input_image', 'input_json']

/** The questions of a request, checked. */
export function questionsOf(
  questions: readonly Question[],
  list = 'questions',
): Pick<DecisionAsked, 'questions' | 'needsServer'> {
  let needsServer: DecisionAsked['needsServer']
  checkCount(list, questions.length, 1, maxQuestions)
  const read = questions.map((question, index): DecisionQuestion => {
    const field = `${list}.${index}`
    const { type, instructions, choices, levels } = question
    const path = `${field}.instructions`
    const text = textOf(instructions, path, partsOfQuestions, (image) => {
      needsServer ??= { field: image, value: 'an image' }
    })
    if (text.trim() === '' && !needsServer) throw wrong(path, 'an empty text', 'a question')
    for (const [name, value] of Object.entries({ choices, levels })) {
      const own = name === (type === 'choice' ? 'choices' : type === 'score' ? 'levels' : '')
      if (value != null && !own) throw wrong(`${field}.${name}`, `given for a ${type}`, 'nothing')
      if (value == null && own) throw wrong(`${field}.${name}`, 'nothing', `a list, for a ${type}`)
    }
    return { kind: type, field, text, options: optionsOf(question, field) }
  })
  return { questions: read, ...(needsServer && { needsServer }) }
}

function optionsOf({ choices, levels }: Question, field: string): DecisionQuestion['options'] {
  if (levels != null) {
    checkCount(`${field}.levels`, levels.length, 2, maxLevels)
    return levels.map(({ label, description }, index) => ({
      name: writtenLabel(label, `${field}.levels.${index}.label`),
      description: description ?? undefined,
    }))
  }
  if (choices == null) return [{ name: 'yes' }, { name: 'no' }]
  checkChoices(
    `${field}.choices`,
    choices.map(({ value }) => value),
  )
  // Beside a boolean, a text of the same letters must look different.
  const hasBoolean = choices.some(({ value }) => typeof value === 'boolean')
  return choices.map(({ value, description }) => ({
    name: hasBoolean ? JSON.stringify(value) : String(value),
    description: description ?? undefined,
  }))
}

function checkChoices(field: string, values: readonly (string | boolean)[]): void {
  checkCount(field, values.length, 2, maxChoices)
  const seen = new Set<string | boolean>()
  for (const [index, value] of values.entries()) {
    if (typeof value === 'string') writtenLabel(value, `${field}.${index}.value`)
    if (seen.has(value)) {
      throw wrong(`${field}.${index}.value`, 'a value that was given before', 'different values')
    }
    seen.add(value)
  }
}

/** A label that shows nothing cannot be chosen for what it says. */
export function writtenLabel(label: string, field: string): string {
  if (label.trim() === '') throw wrong(field, 'an empty text', 'a text')
  return label
}

export function checkCount(field: string, count: number, min: number, max: number): void {
  if (count < min || count > max) throw wrong(field, `${count} entries`, `${min} to ${max}`)
}
