import type { CompleteCall } from '../calls/contract.ts'
import { textOf } from './attribute-values.ts'
import { callOfSpan } from './call.ts'
import type { ResourcePiece, SpanPiece } from './pieces.ts'
import { cut, type Resource, SpanError } from './span.ts'

/** An export as plain data. It is read where its body is parsed: in a separate thread if it is large. */
export interface ReadResource {
  /** The project that its attributes name. */
  entity: string | undefined
  project: string | undefined
  /** The resource cannot be read, and so none of its spans. */
  isBroken: boolean
  spans: ReadSpan[]
}

/** The call that a span becomes, without its project, or why it becomes none. */
export type ReadSpan = { call: CompleteCall } | { why: string }

const entityName = 'wandb.entity'
const projectName = 'wandb.project'
export const projectNames = `${entityName} and ${projectName}`

export function readExport(pieces: readonly ResourcePiece[]): ReadResource[] {
  return pieces.map(({ resource, spans }, index) => {
    const opened = openedOr(resource, (why) => ({ why: `resourceSpans.${index}.resource: ${why}` }))
    if ('why' in opened) {
      return { entity: undefined, project: undefined, isBroken: true, spans: spans.map(() => opened) }
    }
    return {
      entity: textOf(opened.attributes, entityName),
      project: textOf(opened.attributes, projectName),
      isBroken: false,
      spans: spans.map((span) => readSpan(span, opened)),
    }
  })
}

function readSpan(piece: SpanPiece, resource: Resource): ReadSpan {
  let name = 'a span'
  return openedOr(
    () => {
      const span = piece.span()
      name = `span ${cut(span.spanId)}`
      return { call: callOfSpan(span, resource, piece.scope(), '') }
    },
    (why) => ({ why: `${name}: ${why}` }),
  )
}

function openedOr<T, Other>(open: () => T, otherwise: (why: string) => Other): T | Other {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof SpanError)) throw error
    return otherwise(error.message)
  }
}
