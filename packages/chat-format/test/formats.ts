import type { CallFormat, TaggedValue, ValueType } from '../call-format.ts'

/** The formats in which some families of models write calls, according to their templates. */

function values(text: TaggedValue, other: TaggedValue): Record<ValueType, TaggedValue> {
  return { string: text, number: other, boolean: other, null: other, object: other, array: other }
}

function sameMarks(before: string, mid: string, after: string): Record<ValueType, TaggedValue> {
  return values({ before, mid, after, written: 'raw' }, { before, mid, after, written: 'json' })
}

const usual = { ids: 'any', isAnchored: false } as const
const json = { kind: 'json', isQuoted: false } as const

export const qwenCoder: CallFormat = {
  open: ['<tool_call>\n<function='],
  mid: ['>\n'],
  arguments: {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: sameMarks('<parameter=', '>\n', '\n</parameter>\n'),
  },
  gap: ['</function>\n</tool_call>\n<tool_call>\n<function='],
  close: ['</function>\n</tool_call>'],
  ...usual,
}

export const glm45: CallFormat = {
  open: ['<tool_call>'],
  mid: ['\n'],
  arguments: {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: sameMarks('<arg_key>', '</arg_key>\n<arg_value>', '</arg_value>\n'),
  },
  gap: ['</tool_call>\n<tool_call>'],
  close: ['</tool_call>'],
  ...usual,
}

export const glm47: CallFormat = {
  ...glm45,
  mid: [],
  arguments: {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: sameMarks('<arg_key>', '</arg_key><arg_value>', '</arg_value>'),
  },
  gap: ['</tool_call><tool_call>'],
}

const dsml = '｜DSML｜'

export const deepseek32: CallFormat = {
  open: [`<${dsml}function_calls>\n<${dsml}invoke name="`],
  mid: ['">\n'],
  arguments: {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: values(
      {
        before: `<${dsml}parameter name="`,
        mid: '" string="true">',
        after: `</${dsml}parameter>\n`,
        written: 'raw',
      },
      {
        before: `<${dsml}parameter name="`,
        mid: '" string="false">',
        after: `</${dsml}parameter>\n`,
        written: 'json',
      },
    ),
  },
  gap: [`</${dsml}invoke>\n<${dsml}invoke name="`],
  close: [`</${dsml}invoke>\n</${dsml}function_calls>`],
  ...usual,
}

/** Commas between arguments, and a marker as a quote. */
export const commas = {
  open: ['<|tool_call>call:'],
  mid: ['{'],
  arguments: {
    kind: 'tagged',
    head: '',
    between: ',',
    tail: '',
    values: values(
      { before: '', mid: ':<|"|>', after: '<|"|>', written: 'raw' },
      { before: '', mid: ':', after: '', written: 'json' },
    ),
  },
  gap: ['}<tool_call|><|tool_call>call:'],
  close: ['}<tool_call|>'],
  ...usual,
} satisfies CallFormat

/** The same, with this quote around the texts in objects and lists, too. */
export const nestedQuotes: CallFormat = {
  ...commas,
  arguments: {
    ...commas.arguments,
    quote: '<|"|>',
    values: {
      ...commas.arguments.values,
      object: { before: '', mid: ':', after: '', written: 'quoted' },
      array: { before: '', mid: ':', after: '', written: 'quoted' },
    },
  },
}

/** Texts with markers in them are wrapped in markers of their own. */
export const miniCpm5: CallFormat = {
  open: ['<function name="'],
  mid: ['">'],
  arguments: {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: values(
      {
        before: '<param name="',
        mid: '">',
        after: '</param>',
        written: 'raw',
        wrap: { open: '<![CDATA[', close: ']]>' },
      },
      { before: '<param name="', mid: '">', after: '</param>', written: 'json' },
    ),
  },
  gap: ['</function>\n<function name="'],
  close: ['</function>'],
  ...usual,
}

const ns = ']<]minimax[>['

/** Arguments and their members are elements. */
export const minimax3: CallFormat = {
  open: [`${ns}<tool_call>\n${ns}<invoke name="`],
  mid: ['">'],
  arguments: { kind: 'elements', prefix: ns, item: 'item' },
  gap: [`${ns}</invoke>\n${ns}<invoke name="`],
  close: [`${ns}</invoke>\n${ns}</tool_call>`],
  ...usual,
}

/** Keyword arguments, with texts in quotes that are not escaped. */
export const keywords: CallFormat = {
  open: ['<|tool_call_start|>['],
  mid: ['('],
  arguments: {
    kind: 'tagged',
    head: '',
    between: ', ',
    tail: '',
    values: values(
      { before: '', mid: "='", after: "'", written: 'raw' },
      { before: '', mid: '=', after: '', written: 'json' },
    ),
  },
  gap: ['), '],
  close: [')]<|tool_call_end|>'],
  ...usual,
}

export const llama3: CallFormat = {
  open: ['{"name": "'],
  mid: ['", "parameters": '],
  arguments: json,
  close: ['}'],
  ids: 'any',
  isAnchored: true,
}

export const kimi: CallFormat = {
  open: ['<|tool_calls_section_begin|><|tool_call_begin|>functions.'],
  mid: [':', { hole: 'counter' }, '<|tool_call_argument_begin|>'],
  arguments: json,
  gap: ['<|tool_call_end|><|tool_call_begin|>functions.'],
  close: ['<|tool_call_end|><|tool_calls_section_end|>'],
  counter: { from: 0, over: 'conversation' },
  ...usual,
}

export const mistralNemo: CallFormat = {
  open: ['[TOOL_CALLS][{"name": "'],
  mid: ['", "arguments": '],
  arguments: json,
  gap: [', "id": "', { hole: 'id' }, '"}, {"name": "'],
  close: [', "id": "', { hole: 'id' }, '"}]'],
  ids: 'nine',
  isAnchored: false,
}

export const apertus: CallFormat = {
  open: ['<|tools_prefix|>[{"'],
  mid: ['": '],
  arguments: json,
  gap: ['}, {"'],
  close: ['}]<|tools_suffix|>'],
  ...usual,
}

export const devstral: CallFormat = {
  open: ['[TOOL_CALLS]'],
  mid: ['[ARGS]'],
  arguments: json,
  gap: ['[TOOL_CALLS]'],
  close: [],
  ...usual,
}

export const deepseek3: CallFormat = {
  open: ['<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>'],
  mid: ['\n```json\n'],
  arguments: json,
  gap: ['\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>'],
  close: ['\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'],
  ...usual,
}

export const quoted: CallFormat = {
  open: ['<call>{"name": "'],
  mid: ['", "arguments": '],
  arguments: { kind: 'json', isQuoted: true },
  gap: ['}</call><call>{"name": "'],
  close: ['}</call>'],
  ...usual,
}

export const lfm2: CallFormat = {
  open: ['<|tool_call_start|>['],
  mid: ['('],
  arguments: { kind: 'python', words: 'python' },
  gap: ['), '],
  close: [')]<|tool_call_end|>'],
  ...usual,
}

export const llama32: CallFormat = { ...lfm2, open: ['['], close: [')]'], isAnchored: true }

export const olmo3: CallFormat = {
  ...lfm2,
  open: ['<function_calls>'],
  arguments: { kind: 'python', words: 'json' },
  gap: [')\n'],
  close: [')</function_calls>'],
}
