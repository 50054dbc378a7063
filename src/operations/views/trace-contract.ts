import { z } from 'zod'
import { plainText, projectId } from '../../domain/fields.ts'
import { LightCall } from './contract.ts'

export const mostOfTrace = 50_000

export const TraceBody = z.object({
  project_id: projectId,
  trace_id: plainText(128),
  limit: z.int().min(1).max(mostOfTrace).nullish().meta({
    default: mostOfTrace,
    description: 'The calls that began first.',
  }),
})
export type TraceBody = z.output<typeof TraceBody>

/** No more than a tree with times needs: a trace may have very many. */
export const TraceCall = LightCall.pick({
  id: true,
  parent_id: true,
  op_name: true,
  display_name: true,
  started_at: true,
  ended_at: true,
  status: true,
  cost: true,
  storage_size_bytes: true,
}).extend({
  feedback: z.int().min(0).meta({ description: 'How often something was said of it.' }),
})
export type TraceCall = z.output<typeof TraceCall>
