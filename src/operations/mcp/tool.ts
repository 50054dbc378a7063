import { z } from 'zod'
import type { Asking } from './asking.ts'

export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  name: string
  title: string
  description: string
  input: Input
  /** Rows are loose: they leave out what has no value. */
  output: Output
  /** Absent if it only reads. */
  changes?: { isRepeatable: boolean }
  run(asking: Asking, args: z.output<Input>): Promise<z.input<Output>>
}

/** Lets the function of a tool see its arguments as its schema reads them. */
export const tool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  described: Tool<Input, Output>,
): Tool => described as unknown as Tool

const text = (maxLength: number) => z.string().min(1).max(maxLength)

/** What was found; its members differ from row to row. */
export const rows = z.array(z.unknown())

export const project = text(256).refine((name) => /^[^/]+\/[^/]+$/.test(name), 'expected entity/project')
export const callId = text(1024)
export const filter = z
  .string()
  .max(4_096)
  .optional()
  .describe('As status:error latency:>2s inputs.user:"ann" (describe_record)')
export const since = text(40).optional().describe('24h, 7d or 2026-01-31T12:00Z')
export const until = text(40).optional()
export const cursor = text(200).optional().describe('`next` of the previous answer')
export const limit = (max: number, initial: number) => z.int().min(1).max(max).default(initial)

/** Where to go on: absent at the end. */
export const next = z.string().optional()
/** What is missing from the answer, in words. */
export const cut = z.string().optional()
