/** How a model marks what it thinks before it answers. */
export interface ReasoningFormat {
  /** Before the thought, as the model writes it or as the generation prompt ends. */
  open: string
  /** Behind the thought. */
  close: string
  /** Variables of the template that switch thinking on and off; empty where nothing does. */
  switches: { on: Record<string, unknown>; off: Record<string, unknown> }
  /** Whether the template lets the model think where nobody switches it on or off. */
  isDefault: boolean
}

/** What the end of a rendered prompt says of the thought: open, over, or to be opened by the model if it likes. */
export type ThoughtStart = 'open' | 'over' | 'optional'
