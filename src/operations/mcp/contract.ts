import { z } from 'zod'
import { jsonObject, plainText } from '../../domain/fields.ts'

/** What a message says is checked by the protocol's own package, and the arguments of a tool by its schema. */
export const McpMessage = z.object({
  jsonrpc: z.literal('2.0'),
  id: z
    .union([plainText(1024), z.number()])
    .nullish()
    .describe('Absent from a notification.'),
  method: plainText(256).describe('Such as tools/list or tools/call.'),
  params: jsonObject().nullish(),
})
export type McpMessage = z.output<typeof McpMessage>

export const McpQuery = z.strictObject({
  read_only: z
    .enum(['0', '1'])
    .optional()
    .meta({ default: '0', description: '1 offers only tools that change nothing.' }),
})
