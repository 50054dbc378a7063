import { z } from 'zod'
import { jsonValue, plainText } from '../../domain/fields.ts'

/** Most items of one request and of what it continues; more than any context holds. */
export const maxItems = 10_000

/** Sounds and files are recognised so that a refusal can name them; their content is never read. */
const media = () => jsonValue().nullish()

const detail = () => z.string().max(64).nullish()

const Part = z.object({
  type: z.string().max(64).nullish(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  /** As in chat completions, where it has its own `detail`. */
  image_url: z.union([z.string(), z.object({ url: z.string(), detail: detail() })]).nullish(),
  detail: detail(),
  file_data: media(),
  file_id: z.string().nullish(),
  input_audio: media(),
  /** Parts of answers have these, the last from `parse` of the client, and are sent back with them. */
  annotations: media(),
  logprobs: media(),
  parsed: media(),
})

const contents = () =>
  z.union([z.string(), z.array(Part).max(1_024)], {
    error: 'expected a string or a list of at most 1024 parts',
  })

const id = () => plainText(256).min(1).nullish()

/** An item of any type, with every member of any type that is read here. The rules check what fits its type. */
export const InputItem = z.object({
  type: z.string().max(64).nullish(),
  id: id(),
  status: z.string().max(64).nullish(),
  /** Members of messages. */
  role: plainText(64).min(1).nullish(),
  content: contents().nullish(),
  phase: z.string().max(64).nullish(),
  /** Members of calls and their outputs. */
  call_id: id(),
  name: plainText(256).min(1).nullish(),
  arguments: z.string().nullish(),
  parsed_arguments: media(),
  output: contents().nullish(),
  /** Members of reasoning. */
  summary: z.array(Part).max(1_024).nullish(),
  encrypted_content: z.string().nullish(),
})
export type InputItem = z.output<typeof InputItem>
