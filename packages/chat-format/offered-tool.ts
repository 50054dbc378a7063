/** A tool that an answer may call. */
export interface OfferedTool {
  name: string
  /** The JSON Schema of its arguments; absent or null if it has none. */
  parameters: unknown
  /** Its schema is enforced exactly or the request is refused; otherwise unsupported parts are widened. */
  strict: boolean
  /** The field of the request that has its parameters. */
  field?: string
}
