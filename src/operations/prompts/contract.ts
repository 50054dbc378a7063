import { z } from 'zod'
import { jsonObject } from '../../domain/fields.ts'
import { documented } from '../generation/scalars.ts'

/** The reference of a request to a prompt. */
export const PromptReference = z.strictObject({
  id: z
    .string()
    .regex(/^[\w.-]{1,128}$/, 'expected the name of an object: letters, digits, "_", "." and "-"'),
  version: z
    .string()
    .regex(/^[\w.-]{1,128}$/, 'expected a digest, `latest`, `v` and a number, or a label')
    .nullish(),
  variables: z.looseObject({}).nullish(),
})

export const NamingBody = z.object({ prompt: PromptReference })

export const promptField = documented(
  jsonObject().nullish(),
  'A prompt of the project: `{"id": …, "version": …, "variables": {…}}` (docs/prompts.md). It gives the first messages, and the fields that the request leaves out.',
)
