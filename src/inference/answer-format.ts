import type { ReasoningFormat } from './reasoning/reasoning-format.ts'
import type { CallFormat } from './tools/call-format.ts'

/** Formats that data cannot describe: each has a reader and a grammar of its own. */
export type OwnFormat = 'harmony' | 'muse' | 'gigachat'

/**
 * `marks` has, by their names, how the format's marks are written where the vocabulary has a control token for them
 * (`tools/markers.ts`); the others are written as they are called.
 */
export interface OwnCalls {
  own: OwnFormat
  marks?: Readonly<Record<string, string>>
}

/** How a model, with its template, writes what is more than plain text. Found once for each template. */
export interface AnswerFormat {
  /** Absent where the template shows no thoughts. */
  reasoning?: ReasoningFormat
  calls: CallFormat | OwnCalls
  /** What models write behind their content that is not part of it. */
  closings?: readonly string[]
  /**
   * `proven`: random calls were rendered by the template and read back as the same. `own`: the template cannot show the format,
   * which is known. `generic`: the template shows no tools or
   * no calls, so tools are described in the system message and calls are written as Hermes writes them.
   */
  proof: 'proven' | 'own' | 'generic'
  /** What the template needs of a conversation; absent where it was not asked. */
  history?: HistoryForm
  /** Why the format is generic, or what is particular; for the log and for `/v1/models`. */
  note?: string
}

export interface HistoryForm {
  /** Where it does not, the system message describes the tools. */
  showsTools: boolean
  /** Where it does not, calls of earlier turns are text; absent where it does. */
  showsCalls?: false
  /** How the template takes the arguments of earlier calls: nearly all take an object. */
  arguments: 'object' | 'text'
  /** System messages that the template takes: any, one at the start, or none. */
  systemMessages: 'many' | 'one' | 'none'
}
