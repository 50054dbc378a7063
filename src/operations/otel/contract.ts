import { z } from 'zod'
import { jsonObject, shortList } from '../../domain/fields.ts'
import { maxPieces } from './pieces.ts'

const schemaUrl = z.string().nullish()

const ScopeSpans = z.object({
  scope: jsonObject().nullish(),
  spans: shortList(jsonObject(), maxPieces).nullish(),
  schemaUrl,
})

const ResourceSpans = z.object({
  resource: jsonObject()
    .nullish()
    .meta({ description: 'Its attributes wandb.entity and wandb.project name the project.' }),
  scopeSpans: shortList(ScopeSpans, maxPieces).nullish(),
  schemaUrl,
})

const ScopeLogs = z.object({
  scope: jsonObject().nullish(),
  logRecords: shortList(jsonObject(), maxPieces).nullish(),
  schemaUrl,
})

const ResourceLogs = ResourceSpans.omit({ scopeSpans: true }).extend({
  scopeLogs: shortList(ScopeLogs, maxPieces).nullish(),
})

const resources = <Resource extends z.ZodType>(resource: Resource) =>
  shortList(resource, maxPieces).nullish().meta({ description: 'May be absent, as in protobuf.' })

/** A request in OTLP/JSON. Spans are kept as text and read one by one. */
export const TracesBody = z.object({ resourceSpans: resources(ResourceSpans) })
export type TracesBody = z.output<typeof TracesBody>

export const LogsBody = z.object({ resourceLogs: resources(ResourceLogs) })
export type LogsBody = z.output<typeof LogsBody>

/** Only looked at as far as it says that these are metrics. */
export const MetricsBody = z.object({ resourceMetrics: resources(jsonObject()) })

export const MetricsAnswer = z.object({
  partialSuccess: z
    .object({ rejectedDataPoints: z.string(), errorMessage: z.string() })
    .meta({ description: 'Says that metrics are not kept.' }),
})

export const LogsAnswer = z.object({
  partialSuccess: z
    .object({ rejectedLogRecords: z.string(), errorMessage: z.string() })
    .optional()
    .meta({ description: 'Absent if every record was accepted and recognised.' }),
})

export const TracesAnswer = z.object({
  partialSuccess: z
    .object({ rejectedSpans: z.string(), errorMessage: z.string() })
    .optional()
    .meta({ description: 'Absent if every span was accepted.' }),
})
