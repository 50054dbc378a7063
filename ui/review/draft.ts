import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import type { Field } from './field.ts'

/** What a reviewer has entered so far: a text or an option, several options, or the members of a group. */
export type Draft = string | readonly string[] | { readonly [name: string]: Draft } | undefined

/** As JSON, with the digits that were typed. Without `json` there is no answer. */
interface Validated {
  json?: string
  problem?: string
}

const numberForm = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

export function validateDraft(field: Field, draft: Draft): Validated {
  switch (field.kind) {
    case 'choice':
      return typeof draft === 'string' ? { json: draft } : {}
    case 'choices': {
      const chosen = Array.isArray(draft) ? (draft as readonly string[]) : []
      if (chosen.length === 0) return {}
      if (chosen.length < field.least) return { problem: `Choose at least ${field.least}.` }
      if (chosen.length > field.most) return { problem: `Choose at most ${field.most}.` }
      const inOrder = field.options.filter(({ json }) => chosen.includes(json))
      return { json: `[${inOrder.map(({ json }) => json).join(',')}]` }
    }
    case 'number':
      return validateNumber(field, textOf(draft).trim())
    case 'text': {
      const text = textOf(draft)
      if (text === '') return {}
      const length = [...text].length
      if (length < field.least) return { problem: `At least ${field.least} characters.` }
      if (length > field.most) return { problem: `At most ${field.most} characters.` }
      return { json: JSON.stringify(text) }
    }
    case 'json':
      return validateJson(textOf(draft).trim())
    case 'group': {
      const given = groupOf(draft)
      const members = field.members.map((member) => ({
        member,
        is: validateDraft(member.field, given[member.name]),
      }))
      const wrong = members.find(({ is }) => is.problem !== undefined)
      if (wrong) return { problem: `${wrong.member.title}: ${wrong.is.problem}` }
      const said = members.filter(({ is }) => is.json !== undefined)
      if (said.length === 0) return {}
      const missing = members.find(({ member, is }) => member.isNeeded && is.json === undefined)
      if (missing) return { problem: `${missing.member.title} is missing.` }
      return {
        json: `{${said.map(({ member, is }) => `${JSON.stringify(member.name)}:${is.json}`).join(',')}}`,
      }
    }
  }
}

function validateNumber(
  { isInteger, min, max }: Extract<Field, { kind: 'number' }>,
  text: string,
): Validated {
  if (text === '') return {}
  if (!numberForm.test(text)) return { problem: 'This is not a number.' }
  if (isInteger && !/^-?\d+$/.test(text)) return { problem: 'This is not a whole number.' }
  if (min !== undefined && Number(text) < min) return { problem: `At least ${min}.` }
  if (max !== undefined && Number(text) > max) return { problem: `At most ${max}.` }
  return { json: text }
}

function validateJson(text: string): Validated {
  if (text === '') return {}
  try {
    JSON.parse(text)
    return { json: text }
  } catch (error) {
    return { problem: `This is not valid JSON: ${(error as Error).message}` }
  }
}

export const textOf = (draft: Draft): string => (typeof draft === 'string' ? draft : '')

export const groupOf = (draft: Draft): { readonly [name: string]: Draft } =>
  typeof draft === 'object' && !Array.isArray(draft) ? (draft as { [name: string]: Draft }) : {}

/** An earlier answer, to be changed. */
export function draftOf(field: Field, node: JsonNode | undefined): Draft {
  if (node === undefined) return undefined
  switch (field.kind) {
    case 'choice':
      return field.options.find(({ json }) => json === compact(node))?.json
    case 'choices': {
      const given = [...membersOf(node)].map((member) => compact(member.node))
      return field.options.filter(({ json }) => given.includes(json)).map(({ json }) => json)
    }
    case 'text':
      return stringOf(node)
    case 'number':
    case 'json':
      return sourceOf(node)
    case 'group':
      return Object.fromEntries(
        field.members.map((member) => [member.name, draftOf(member.field, nodeAt(node, member.name))]),
      )
  }
}

const compact = (node: JsonNode): string => JSON.stringify(JSON.parse(sourceOf(node)))
