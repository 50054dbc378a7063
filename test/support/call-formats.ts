import { type CallFormat, hermes, type TaggedValue } from '../../packages/chat-format/index.ts'

const json = { kind: 'json', isQuoted: false } as const

function tagged(
  value: Omit<TaggedValue, 'written'>,
  of: Partial<Extract<CallFormat['arguments'], { kind: 'tagged' }>> = {},
) {
  const other: TaggedValue = { ...value, written: 'json' }
  return {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: {
      string: { ...value, written: 'raw' },
      number: other,
      boolean: other,
      null: other,
      object: other,
      array: other,
    },
    ...of,
  } as const
}

const plain = { ids: 'any', isAnchored: false } as const
const dsml = (isText: boolean): TaggedValue => ({
  before: '<|DSML|parameter name="',
  mid: `" string="${isText}">`,
  after: '</|DSML|parameter>\n',
  written: isText ? 'raw' : 'json',
})

const bare: TaggedValue = { before: '', mid: ':', after: '', written: 'json' }
const quoted = {
  string: { before: '', mid: ':\udc02', after: '\udc02', written: 'raw' },
  number: bare,
  boolean: bare,
  null: bare,
  object: { ...bare, written: 'quoted' },
  array: { ...bare, written: 'quoted' },
} as const
const param: TaggedValue = { before: '<param name="', mid: '">', after: '</param>', written: 'json' }
const wrapped = {
  string: { ...param, written: 'raw', wrap: { open: '<![CDATA[', close: ']]>' } },
  number: param,
  boolean: param,
  null: param,
  object: param,
  array: param,
} as const

/** Formats as templates show them; control tokens are lone low surrogates. */
export const callFormats: Readonly<Record<string, CallFormat>> = {
  hermes,
  'lists of calls behind a token': {
    open: ['\udc00[{"name": "'],
    mid: ['", "arguments": '],
    arguments: json,
    gap: [', "id": "', { hole: 'id' }, '"}, {"name": "'],
    close: [', "id": "', { hole: 'id' }, '"}]'],
    ids: 'nine',
    isAnchored: false,
  },
  'tokens between name and arguments': {
    open: ['\udc00'],
    mid: ['\udc01'],
    arguments: json,
    gap: ['\udc00'],
    close: [],
    ...plain,
  },
  'numbered calls': {
    open: ['\udc00\udc01functions.'],
    mid: [':', { hole: 'counter' }, '\udc02'],
    arguments: json,
    gap: ['\udc03\udc01functions.'],
    close: ['\udc03\udc04'],
    counter: { from: 0, over: 'conversation' },
    ...plain,
  },
  'bare JSON': {
    open: ['{"name": "'],
    mid: ['", "parameters": '],
    arguments: json,
    close: ['}'],
    ids: 'any',
    isAnchored: true,
  },
  'the name as key': {
    open: ['\udc00[{"'],
    mid: ['": '],
    arguments: json,
    gap: ['}, {"'],
    close: ['}]\udc01'],
    ...plain,
  },
  'fenced JSON': {
    open: ['<|calls|><|call|>function<|sep|>'],
    mid: ['\n```json\n'],
    arguments: json,
    gap: ['\n```<|end|>\n<|call|>function<|sep|>'],
    close: ['\n```<|end|><|ends|>'],
    ...plain,
  },
  'tags of XML': {
    open: ['<tool_call>\n<function='],
    mid: ['>\n'],
    arguments: tagged({ before: '<parameter=', mid: '>\n', after: '\n</parameter>\n' }),
    gap: ['</function>\n</tool_call>\n<tool_call>\n<function='],
    close: ['</function>\n</tool_call>'],
    ...plain,
  },
  'keys and values in tags': {
    open: ['<tool_call>'],
    mid: ['\n'],
    arguments: tagged(
      { before: '<arg_key>', mid: '</arg_key>\n<arg_value>', after: '</arg_value>' },
      { between: '\n', tail: '\n' },
    ),
    gap: ['</tool_call>\n<tool_call>'],
    close: ['</tool_call>'],
    ...plain,
  },
  'keys and values in tokens': {
    open: ['\udc00'],
    mid: [''],
    arguments: tagged({ before: '<arg_key>', mid: '</arg_key><arg_value>', after: '</arg_value>' }),
    gap: ['\udc01\udc00'],
    close: ['\udc01'],
    ...plain,
  },
  'typed tags': {
    open: ['<|DSML|function_calls>\n<|DSML|invoke name="'],
    mid: ['">\n'],
    arguments: {
      ...tagged(dsml(true)),
      values: {
        string: dsml(true),
        number: dsml(false),
        boolean: dsml(false),
        null: dsml(false),
        object: dsml(false),
        array: dsml(false),
      },
    },
    gap: ['</|DSML|invoke>\n<|DSML|invoke name="'],
    close: ['</|DSML|invoke>\n</|DSML|function_calls>'],
    ...plain,
  },
  'lists of Python': {
    open: ['\udc00['],
    mid: ['('],
    arguments: { kind: 'python', words: 'python' },
    gap: ['), '],
    close: [')]\udc01'],
    ...plain,
  },
  elements: {
    open: ['\udc00<tool_call>\n\udc00<invoke name="'],
    mid: ['">'],
    arguments: { kind: 'elements', prefix: '\udc00', item: 'item' },
    gap: ['\udc00</invoke>\n\udc00<invoke name="'],
    close: ['\udc00</invoke>\n\udc00</tool_call>'],
    ...plain,
  },
  'elements in letters': {
    open: ['#!<calls><call name="'],
    mid: ['">'],
    arguments: { kind: 'elements', prefix: '#!', item: 'a' },
    gap: ['#!</call><call name="'],
    close: ['#!</call></calls>'],
    ...plain,
  },
  'quotes inside of values': {
    open: ['\udc00call:'],
    mid: ['{'],
    arguments: {
      ...tagged({ before: '', mid: ':', after: '' }, { between: ',' }),
      quote: '\udc02',
      values: quoted,
    },
    gap: ['}\udc01\udc00call:'],
    close: ['}\udc01'],
    ...plain,
  },
  'texts between marks of their own': {
    open: ['<function name="'],
    mid: ['">'],
    arguments: {
      ...tagged({ before: '<param name="', mid: '">', after: '</param>' }),
      values: wrapped,
    },
    gap: ['</function>\n<function name="'],
    close: ['</function>'],
    ...plain,
  },
  'JSON in a string': {
    open: ['<call>{"function": "'],
    mid: ['", "arguments": '],
    arguments: { kind: 'json', isQuoted: true },
    gap: ['}</call><call>{"function": "'],
    close: ['}</call>'],
    ...plain,
  },
}
