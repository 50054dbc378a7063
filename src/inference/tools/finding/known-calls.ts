import type { CallFormat } from '../call-format.ts'

/** Lists of calls in Python syntax. */
const pythonLists: CallFormat = {
  open: ['<|tool_call_start|>['],
  mid: ['('],
  arguments: { kind: 'python', words: 'python' },
  gap: ['), '],
  close: [')]<|tool_call_end|>'],
  ids: 'any',
  isAnchored: false,
}

/** Templates of LFM2 show the tools to the model, but not the form of the calls that it was trained to write. */
export function knownCalls(prompt: string): CallFormat | undefined {
  return /List of tools: (<\|tool_list_start\|>)?\[/.test(prompt) ? pythonLists : undefined
}
