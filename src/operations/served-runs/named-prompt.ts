import { membersOf, objectText } from '../../../packages/json/index.ts'
import { wrong } from '../../domain/refusals.ts'
import type { OperationParts } from '../parts.ts'
import { PromptReference } from '../prompts/contract.ts'
import { filledPrompt } from '../prompts/filling.ts'
import { promptNotFound, usualLabel } from '../prompts/named-prompts.ts'
import { chatWire } from '../prompts/wires.ts'
import { type Plan, requestOf } from './plan.ts'

type Asked = Pick<Plan, 'prompt' | 'system' | 'request'>

/** The prompt that the fields of a chat completion name, whose variables are columns of the row. */
function referenceIn(request: string, field: string) {
  const json = membersOf(request).get('prompt') ?? 'null'
  if (json === 'null') return undefined
  const read = PromptReference.safeParse(JSON.parse(json))
  if (!read.success || read.data.variables != null) {
    throw wrong(
      `${field}.prompt`,
      'another value',
      '{"id": …, "version": …}: its variables are columns of the dataset',
    )
  }
  return { id: read.data.id, version: read.data.version ?? usualLabel }
}

/** The same fields with the version of now: all trials of a run are asked with the same words. */
export async function pinnedRequest(
  { db, prompts }: OperationParts,
  project: string,
  request: string,
  field: string,
): Promise<string> {
  const name = referenceIn(request, field)
  if (name === undefined) return request
  const found = await prompts.find(db, project, name)
  if (found === undefined) throw promptNotFound(project, name)
  const prompt = JSON.stringify({ id: found.id, version: found.digest })
  return objectText(membersOf(request).set('prompt', prompt))
}

/** The members of a chat completion about a row, with the prompt that it names; or why there is none. */
export async function promptedRequest(
  { db, prompts, models }: OperationParts,
  project: string,
  plan: Asked,
  row: string,
): Promise<Map<string, string> | { why: string }> {
  const name = referenceIn(plan.request, 'request')
  if (name === undefined) return requestOf(plan, row)
  const found = await prompts.find(db, project, name)
  if (found === undefined) throw promptNotFound(project, name)
  const columns = membersOf(row)
  // A row need not have a conversation, because the prompt has messages.
  const own =
    plan.prompt === null && !columns.has('messages') ? membersOf(plan.request) : requestOf(plan, row)
  if ('why' in own) return own
  own.delete('prompt')
  const { variables, placeholders } = found.prompt
  const values = new Map([...columns].filter(([column]) => variables.has(column) || placeholders.has(column)))
  return chatWire(filledPrompt(found.prompt, values, models), own)
}
