/** A tool that an answer may call. */
export interface OfferedTool {
  name: string
  /** The JSON Schema of its arguments; absent or null where it takes none. */
  parameters: unknown
  /** Its schema is kept as it is or the request is refused; otherwise what cannot be kept is widened. */
  strict: boolean
  /** Where the request has its parameters. */
  field?: string
}
