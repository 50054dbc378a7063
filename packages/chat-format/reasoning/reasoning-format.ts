/** How a model marks the thought before its answer. */
export interface ReasoningFormat {
  /** Before the thought, as the model writes it or at the end of the generation prompt. */
  open: string
  /** After the thought. */
  close: string
  /** Variables of the template that switch thinking on and off; empty if there are none. */
  switches: { on: Record<string, unknown>; off: Record<string, unknown> }
  /** Whether the template lets the model think unless it is switched on or off. */
  isDefault: boolean
}

/** The state of the thought at the end of a rendered prompt: open, over, or to be opened by the model if it likes. */
export type ThoughtStart = 'open' | 'over' | 'optional'
