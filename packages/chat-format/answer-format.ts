import type { CallFormat } from './call-format.ts'
import type { CodedFormat } from './coded/coded-forms.ts'
import type { ReasoningFormat } from './reasoning/reasoning-format.ts'

/**
 * `marks`: how the marks of the format are written, by their names, where the vocabulary has a control token for them
 * (`tools/markers.ts`). The others are written like their names.
 */
export interface CodedCalls {
  own: CodedFormat
  marks?: Readonly<Record<string, string>>
}

/** How a model, with its template, writes what is more than plain text. Determined once for each template. */
export interface AnswerFormat {
  /** Absent where the template shows no thoughts. */
  reasoning?: ReasoningFormat
  calls: CallFormat | CodedCalls
  /** Texts after the content that are not part of it. */
  closings?: readonly string[]
  /**
   * `proven`: random calls were rendered by the template and read back unchanged. `own`: the template cannot show the
   * format, but it is known. `generic`: the template shows no tools or no calls, so tools are described in the system
   * message and calls are written in the format of Hermes.
   */
  proof: 'proven' | 'own' | 'generic'
  /** The form in which the template needs a conversation; absent where this was not determined. */
  history?: HistoryForm
  /** Why the format is generic, or what is unusual about it; for the log and for `/v1/models`. */
  note?: string
}

export interface HistoryForm {
  /** Otherwise the system message describes the tools. */
  showsTools: boolean
  /** Otherwise calls of earlier turns are shown as text; absent if it shows them. */
  showsCalls?: false
  /** The form in which the template expects the arguments of earlier calls: nearly all expect an object. */
  arguments: 'object' | 'text'
  /** System messages that the template accepts: any, one at the start, or none. */
  systemMessages: 'many' | 'one' | 'none'
}
