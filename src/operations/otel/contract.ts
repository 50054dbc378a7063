import { z } from 'zod'
import { jsonObject } from '../../domain/fields.ts'

const schemaUrl = z.string().nullish()

/** A request in OTLP/JSON. Spans are kept as text and read one by one. */
export const TracesBody = z.object({
  resourceSpans: z.array(
    z.object({
      resource: jsonObject()
        .nullish()
        .meta({ description: 'Its attributes wandb.entity and wandb.project name the project.' }),
      scopeSpans: z
        .array(z.object({ scope: jsonObject().nullish(), spans: z.array(jsonObject()).nullish(), schemaUrl }))
        .nullish(),
      schemaUrl,
    }),
  ),
})
export type TracesBody = z.output<typeof TracesBody>

export const TracesAnswer = z.object({
  partialSuccess: z
    .object({ rejectedSpans: z.string(), errorMessage: z.string() })
    .optional()
    .meta({ description: 'Absent when every span was taken.' }),
})
