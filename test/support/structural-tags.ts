const call = (name: string, schema: unknown) => ({
  type: 'tag',
  begin: `<function=${name}>`,
  content: { type: 'json_schema', json_schema: schema },
  end: '</function>',
})
const digits = { type: 'regex', pattern: '[0-9]+' }
const triggered = (more: object = {}) => ({
  type: 'structural_tag',
  format: {
    type: 'triggered_tags',
    triggers: ['<function='],
    tags: [call('f', { type: 'integer' }), call('g', { type: 'boolean' })],
    ...more,
  },
})
const separated = (more: object = {}) => ({
  format: {
    type: 'tags_with_separator',
    separator: ',',
    tags: [
      { type: 'tag', begin: '<', content: digits, end: '>' },
      { begin: '[', content: digits, end: ']' },
    ],
    ...more,
  },
})

/** Structural tags of both forms, each with texts that fit and texts that do not; all texts are ASCII. */
export const structuralTags: readonly {
  name: string
  tag: unknown
  yes: readonly string[]
  no: readonly string[]
}[] = [
  {
    name: 'structures with triggers',
    tag: {
      structures: [
        { begin: '<function=f>', schema: { type: 'integer' }, end: '</function>' },
        { begin: '<function=g>', schema: { type: 'boolean' }, end: '</function>' },
      ],
      triggers: ['<function='],
    },
    yes: [
      '',
      'free text < and <function, and <functio<n=',
      '<function=f>12</function>',
      'a<function=g>true</function>b\n<function=f>0</function>',
      '<<function=f>1</function>',
    ],
    no: ['<function=', '<function=h>1</function>', '<function=f>true</function>', 'x<function=f>1</functio'],
  },
  {
    name: 'triggered tags',
    tag: triggered(),
    yes: ['', 'text', '<function=f>1</function>', 'a<function=f>1</function>b<function=g>false</function>'],
    no: ['<function=f>1', 'a <function=g>1</function>'],
  },
  {
    name: 'triggered tags, at least one',
    tag: triggered({ at_least_one: true }),
    yes: ['<function=f>1</function>', '<function=f>1</function>text<function=g>true</function>'],
    no: ['', 'text', 'a<function=f>1</function>'],
  },
  {
    name: 'triggered tags, no more than one',
    tag: triggered({ stop_after_first: true }),
    yes: ['', 'text', 'a<function=f>1</function>'],
    no: ['<function=f>1</function>b', '<function=f>1</function><function=f>1</function>'],
  },
  {
    name: 'triggered tags, exactly one',
    tag: triggered({ at_least_one: true, stop_after_first: true }),
    yes: ['<function=f>1</function>'],
    no: ['', 'text', '<function=f>1</function>b', 'a<function=f>1</function>'],
  },
  {
    name: 'several triggers, one of which begins inside of another',
    tag: {
      format: {
        type: 'triggered_tags',
        triggers: ['aab', 'ac'],
        tags: [
          { begin: 'aab', content: digits, end: '.' },
          { begin: 'acx', content: digits, end: '.' },
        ],
      },
    },
    yes: ['a', 'aa', 'aaab1.', 'aacx1.', 'ab', 'abab', 'xacx22.aaa'],
    no: ['aab', 'aaab', 'ac', 'aac', 'acy', 'aab1', 'aabx'],
  },
  {
    name: 'triggered tags inside of a tag',
    tag: {
      format: {
        type: 'tag',
        begin: '<all>',
        content: {
          type: 'triggered_tags',
          triggers: ['<n>'],
          tags: [{ begin: '<n>', content: digits, end: '</n>' }],
        },
        end: '</all>',
      },
    },
    yes: ['<all></all>', '<all>text<n>1</n>more</all>', '<all><</all>'],
    no: ['<all>', '<all><n></n></all>', '<all></all>more', '<all></all></all>'],
  },
  {
    name: 'any text in a tag, and what follows',
    tag: {
      type: 'structural_tag',
      format: {
        type: 'sequence',
        elements: [
          { type: 'tag', begin: '<think>', content: { type: 'any_text' }, end: '</think>' },
          { type: 'const_string', value: 'answer: ' },
          {
            type: 'or',
            elements: [digits, { type: 'grammar', grammar: 'root ::= y_es | "no"\ny_es ::= "yes" "!"{0,2}' }],
          },
        ],
      },
    },
    yes: [
      '<think></think>answer: 1',
      '<think>a < b </thin</think>answer: yes!!',
      '<think>x</think>answer: no',
    ],
    no: [
      '',
      'answer: 1',
      '<think>x</think>1',
      '<think>x</think>y</think>answer: 1',
      '<think></think>answer: yes!!!',
    ],
  },
  {
    name: 'any text',
    tag: { format: { type: 'any_text' } },
    yes: ['', 'text', '{"a":\n1}'],
    no: [],
  },
  {
    name: 'tags with a separator',
    tag: separated(),
    yes: ['', '<1>', '<1>,[2],<33>'],
    no: [',', '<1>,', '<1>[2]', '<>'],
  },
  {
    name: 'tags with a separator, at least one',
    tag: separated({ at_least_one: true }),
    yes: ['<1>', '[1],[2]'],
    no: ['', ','],
  },
  {
    name: 'tags with a separator, no more than one',
    tag: separated({ stop_after_first: true }),
    yes: ['', '<1>'],
    no: ['<1>,<2>'],
  },
]

/** JSON Schemas of the tags above, as grammars. */
export const schemaTexts = new Map([
  ['integer', '0|-?[1-9][0-9]{0,15}'],
  ['boolean', 'true|false'],
])
