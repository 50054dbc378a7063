/** A tool that the model may call. */
export interface OfferedTool {
  name: string
  /** The JSON Schema of its arguments; anything that is no object stands for any arguments. */
  parameters: unknown
  /** What cannot be kept of `parameters` is refused instead of widened. */
  strict: boolean
}
