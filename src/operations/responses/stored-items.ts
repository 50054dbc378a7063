import { z } from 'zod'
import { membersOf } from '../../../packages/json/index.ts'
import { inSteps, type YieldToLoop } from '../../../packages/waiting/index.ts'
import { Refusal } from '../../domain/refusals.ts'
import type { ResponseContent } from '../../storage/answers/responses.ts'
import { itemsOf, type Sources } from './input.ts'
import type { Item } from './items.ts'
import { InputItem } from './items-contract.ts'
import type { OutputItem } from './output.ts'

/**
 * The input and output of a kept answer. They are read from its call, and anyone who may write to the project can
 * overwrite that call. Whatever does not have this server's form is undefined, and the answer counts as deleted.
 */

export type Unseal = Sources['unseal']

/** A text with the pictures of the project; undefined where it is too long. */
export type WithPictures = (project: string, json: string) => Promise<string | undefined>

/** The items read, and the number of characters parsed. */
interface Read<Items> {
  items: Items
  characters: number
}

export async function inputOf(
  { id, project_id, asked, ...content }: ResponseContent,
  { unseal, withPictures }: { unseal: Unseal; withPictures: WithPictures },
  yieldToLoop?: YieldToLoop,
): Promise<Read<Item[]> | 'too long' | undefined> {
  const whole = async (json: string) => (project_id === null ? json : withPictures(project_id, json))
  const referred = await whole(content.referred)
  const text = await whole(memberOf(asked, 'input') ?? 'null')
  if (referred === undefined || text === undefined) return 'too long'
  const items = JSON.parse(referred) as Record<number, Item> | Item[]
  if (project_id === null) return { items: items as Item[], characters: referred.length }
  const input = parsed(text)
  const sources: Sources = {
    response: id,
    item: async (_, index) => (items as Record<number, Item>)[index],
    unseal,
    // What was accepted once is read.
    checkPicture: (url) => url,
  }
  const characters = text.length + referred.length
  try {
    if (typeof input === 'string') return { items: await itemsOf(input, sources), characters }
    const read: InputItem[] = []
    if (!Array.isArray(input)) return undefined
    await inSteps(input, (item) => void read.push(InputItem.parse(item)), yieldToLoop)
    return { items: await itemsOf(read, sources), characters }
  } catch (error) {
    if (error instanceof z.ZodError || (error instanceof Refusal && error.status < 500)) return undefined
    throw error
  }
}

export async function outputOf(
  { answer }: ResponseContent,
  yieldToLoop?: YieldToLoop,
): Promise<Read<OutputItem[]> | undefined> {
  const text = memberOf(answer, 'output')
  const output = parsed(text)
  if (!Array.isArray(output)) return undefined
  let isWhole = true
  await inSteps(
    output,
    (item) => {
      isWhole &&= OutputItems.safeParse(item).success
    },
    yieldToLoop,
  )
  return isWhole ? { items: output, characters: text?.length ?? 0 } : undefined
}

/** Only the members that are read. */
const base = { id: z.string(), status: z.enum(['in_progress', 'completed', 'incomplete']) }
const partOf = (type: string) => z.object({ type: z.literal(type), text: z.string() })

const OutputItems = z.discriminatedUnion('type', [
  z.object({
    ...base,
    type: z.literal('message'),
    role: z.string(),
    content: z.array(partOf('output_text')),
  }),
  z.object({
    ...base,
    type: z.literal('reasoning'),
    summary: z.array(partOf('summary_text')),
    content: z.array(partOf('reasoning_text')).optional(),
    encrypted_content: z.string().optional(),
  }),
  z.object({
    ...base,
    type: z.literal('function_call'),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
])

function memberOf(text: string | null, name: string): string | undefined {
  return text?.startsWith('{') ? membersOf(text).get(name) : undefined
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text)
}
