import type { CallFormat, TaggedValue } from './call-format.ts'

const value: TaggedValue = {
  before: '<atem:parameter name="',
  mid: '">',
  after: '</atem:parameter>\n',
  written: 'json',
}

/** How Muse writes a call, in a separate message to the tool. */
export const muse: CallFormat = {
  open: ['<atem:function_calls>\n<atem:invoke name="'],
  mid: ['">\n'],
  arguments: {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: {
      string: { ...value, written: 'raw' },
      number: value,
      boolean: value,
      null: value,
      object: value,
      array: value,
    },
  },
  close: ['</atem:invoke>\n</atem:function_calls>'],
  ids: 'any',
  isAnchored: true,
}
