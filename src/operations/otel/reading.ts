import type { CompleteCall } from '../calls/contract.ts'
import { textOf } from './attribute-values.ts'
import { callOfSpan } from './call.ts'
import { type Evaluation, evaluationEvent, evaluationOf, flattenedEvaluations } from './evaluation-events.ts'
import type { ItemPiece, ResourcePiece } from './pieces.ts'
import { cut, type Resource, type Span, SpanError } from './span.ts'

/** An export as plain data. It is read where its body is parsed: in a separate thread if it is large. */
export interface ReadResource<Item = ReadSpan> {
  /** The project that its attributes name. */
  entity: string | undefined
  project: string | undefined
  /** The resource cannot be read, and so none of its items. */
  isBroken: boolean
  items: (Item | Rejected)[]
}

/** Why an item becomes nothing. */
export interface Rejected {
  why: string
}

/** The call that a span becomes, without its project, and what its events say of it. */
interface ReadSpan {
  call: CompleteCall
  evaluations: Evaluation[]
}

const entityName = 'wandb.entity'
const projectName = 'wandb.project'
export const projectNames = `${entityName} and ${projectName}`

export const readExport = (pieces: readonly ResourcePiece[]): ReadResource[] =>
  readResources(pieces, 'resourceSpans', (items, resource) =>
    items.flatMap((item) => readSpan(item, resource) ?? []),
  )

export function readResources<Item, Read>(
  pieces: readonly ResourcePiece<Item>[],
  field: string,
  read: (items: readonly ItemPiece<Item>[], resource: Resource) => (Read | Rejected)[],
): ReadResource<Read>[] {
  return pieces.map(({ resource, items }, index) => {
    const opened = openedOr(resource, (why) => ({ why: `${field}.${index}.resource: ${why}` }))
    if ('why' in opened) {
      return { entity: undefined, project: undefined, isBroken: true, items: items.map(() => opened) }
    }
    return {
      entity: textOf(opened.attributes, entityName),
      project: textOf(opened.attributes, projectName),
      isBroken: false,
      items: read(items, opened),
    }
  })
}

/** Logfire announces each span by another one when it begins. */
const isAnnouncement = ({ attributes }: Span) => attributes.get('logfire.span_type') === 'pending_span'

function readSpan(piece: ItemPiece, resource: Resource): ReadSpan | Rejected | undefined {
  let name = 'a span'
  return openedOr(
    () => {
      const span = piece.item()
      name = `span ${cut(span.spanId)}`
      if (isAnnouncement(span)) return undefined
      const call = callOfSpan(span, resource, piece.scope(), '')
      return { call, evaluations: evaluationsOf(span) }
    },
    (why) => ({ why: `${name}: ${why}` }),
  )
}

/** What has no name of a judgement stays an event or an attribute of its span. */
function evaluationsOf({ spanId, events, attributes: own, endTimeUnixNano }: Span): Evaluation[] {
  const told = events
    .filter(({ name }) => name === evaluationEvent)
    .map(({ attributes, timeUnixNano }) => ({ attributes, time: timeUnixNano || endTimeUnixNano }))
  const flat = flattenedEvaluations(own).map((attributes) => ({ attributes, time: endTimeUnixNano }))
  return [...told, ...flat].flatMap(({ attributes, time }) =>
    openedOr(
      () => evaluationOf(attributes, spanId, time),
      () => [],
    ),
  )
}

export function openedOr<T, Other>(open: () => T, otherwise: (why: string) => Other): T | Other {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof SpanError)) throw error
    return otherwise(error.message)
  }
}
