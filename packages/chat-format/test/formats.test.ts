import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallFormat } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { everyCut, partsOf, read, type Told, told } from './answer-reading.ts'
import * as formats from './formats.ts'

const plan: OfferedTool = {
  name: 'plan',
  parameters: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      count: { type: 'integer' },
      ratio: { type: 'number' },
      isOn: { type: 'boolean' },
      list: { type: 'array' },
      inner: { $ref: '#/$defs/inner' },
      maybe: { type: ['string', 'null'] },
      either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      kind: { enum: ['1', '2'] },
      any: {},
    },
    $defs: { inner: { type: 'object' } },
  },
  strict: false,
}
const done: OfferedTool = { name: 'plan_done', parameters: { type: 'object' }, strict: false }

const call = (name: string, given: unknown, isComplete = true) => ({ name, arguments: given, isComplete })

const cases: [string, CallFormat, string, { content?: string; calls?: ReturnType<typeof call>[] }][] = [
  [
    'Qwen3-Coder: values are read by their types',
    formats.qwenCoder,
    'Yes.\n<tool_call>\n<function=plan>\n<parameter=text>\nHe said "no"\n\n42\\n\n</parameter>\n<parameter=count>\n42\n</parameter>\n<parameter=inner>\n{"a": "</parameter>", "b": [1]}\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=plan_done>\n</function>\n</tool_call>',
    {
      content: 'Yes.\n',
      calls: [
        call('plan', { text: 'He said "no"\n\n42\\n', count: 42, inner: { a: '</parameter>', b: [1] } }),
        call('plan_done', {}),
      ],
    },
  ],
  [
    'Qwen3-Coder: a text that may be another value',
    formats.qwenCoder,
    '<tool_call>\n<function=plan>\n<parameter=maybe>\nnull\n</parameter>\n<parameter=either>\n12\n</parameter>\n<parameter=kind>\n1\n</parameter>\n<parameter=any>\n[1, "x"]\n</parameter>\n</function>\n</tool_call>',
    { calls: [call('plan', { maybe: null, either: 12, kind: '1', any: [1, 'x'] })] },
  ],
  [
    'Qwen3-Coder: a text that is no other value',
    formats.qwenCoder,
    '<tool_call>\n<function=plan>\n<parameter=maybe>\nnullify\n</parameter>\n<parameter=either>\n12 o\'clock\n</parameter>\n<parameter=any>\n[1, "x\n</parameter>\n</function>\n</tool_call>',
    { calls: [call('plan', { maybe: 'nullify', either: "12 o'clock", any: '[1, "x' })] },
  ],
  [
    'Qwen3-Coder: an empty text, and texts with markers inside',
    formats.qwenCoder,
    '<tool_call>\n<function=plan>\n<parameter=text>\n\n</parameter>\n<parameter=either>\n</parameter></function></tool_call>\n</parameter>\n</function>\n</tool_call>!',
    { content: '!', calls: [call('plan', { text: '', either: '</parameter></function></tool_call>' })] },
  ],
  [
    'Qwen3-Coder: prose about its markers',
    formats.qwenCoder,
    'Write <tool_call>\n<function=plan>\nand then',
    { content: 'Write <tool_call>\n<function=plan>\nand then' },
  ],
  [
    'Qwen3-Coder: words of Python',
    formats.qwenCoder,
    '<tool_call>\n<function=plan>\n<parameter=isOn>\nTrue\n</parameter>\n<parameter=count>\nmany\n</parameter>\n</function>\n</tool_call>',
    { calls: [call('plan', { isOn: true, count: 'many' })] },
  ],
  [
    'Qwen3-Coder: anything else ends the arguments',
    formats.qwenCoder,
    '<tool_call>\n<function=plan>\n<parameter=count>\n1\n</parameter>\n<oops>',
    { content: '<oops>', calls: [call('plan', { count: 1 })] },
  ],
  [
    'GLM 4.5',
    formats.glm45,
    '<tool_call>plan\n<arg_key>text</arg_key>\n<arg_value> a\n</arg_value>\n<arg_key>ratio</arg_key>\n<arg_value>-1.5e3</arg_value>\n</tool_call>\n<tool_call>plan_done\n</tool_call>',
    { calls: [call('plan', { text: ' a\n', ratio: -1500 }), call('plan_done', {})] },
  ],
  [
    'GLM 4.7: nothing between name and arguments',
    formats.glm47,
    '<tool_call>plan<arg_key>text</arg_key><arg_value>a</arg_value></tool_call><tool_call>plan_done</tool_call>',
    { calls: [call('plan', { text: 'a' }), call('plan_done', {})] },
  ],
  [
    'GLM 4.7: a name in prose',
    formats.glm47,
    'The mark <tool_call>plan is <tool_call>plan_dones.',
    { content: 'The mark <tool_call>plan is <tool_call>plan_dones.' },
  ],
  [
    'DeepSeek V3.2: the markers give the type',
    formats.deepseek32,
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="plan">\n<｜DSML｜parameter name="any" string="true">42</｜DSML｜parameter>\n<｜DSML｜parameter name="list" string="false">[1, {"a": null}]</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="plan_done">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    { calls: [call('plan', { any: '42', list: [1, { a: null }] }), call('plan_done', {})] },
  ],
  [
    'commas between arguments',
    formats.commas,
    '<|tool_call>call:plan{text:<|"|>a,b:"}<|"|>,count:3,list:[1,2],isOn:true}<tool_call|><|tool_call>call:plan_done{}<tool_call|>',
    { calls: [call('plan', { text: 'a,b:"}', count: 3, list: [1, 2], isOn: true }), call('plan_done', {})] },
  ],
  [
    'Llama 3: only at the start',
    formats.llama3,
    '\n{"name": "plan", "parameters": {"count": 1}}',
    { calls: [call('plan', { count: 1 })] },
  ],
  [
    'Llama 3: JSON in an answer',
    formats.llama3,
    'See {"name": "plan", "parameters": {"count": 1}}',
    { content: 'See {"name": "plan", "parameters": {"count": 1}}' },
  ],
  [
    'Llama 3: other JSON',
    formats.llama3,
    '{"name": "plans", "parameters": {"count": 1}}',
    { content: '{"name": "plans", "parameters": {"count": 1}}' },
  ],
  [
    'Kimi: a counter',
    formats.kimi,
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.plan:10<|tool_call_argument_begin|>{"count": 1}<|tool_call_end|><|tool_call_begin|>functions.plan_done:11<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
    { calls: [call('plan', { count: 1 }), call('plan_done', {})] },
  ],
  [
    'Mistral Nemo: ids',
    formats.mistralNemo,
    '[TOOL_CALLS][{"name": "plan", "arguments": {"count": 1}, "id": "abcdefghi"}, {"name": "plan_done", "arguments": {}, "id": "012345678"}]',
    { calls: [call('plan', { count: 1 }), call('plan_done', {})] },
  ],
  [
    'Devstral',
    formats.devstral,
    'Hm.[TOOL_CALLS]plan[ARGS]{"count": 1}[TOOL_CALLS]plan_done[ARGS]{}',
    { content: 'Hm.', calls: [call('plan', { count: 1 }), call('plan_done', {})] },
  ],
  [
    'Apertus: the name is the key',
    formats.apertus,
    '<|tools_prefix|>[{"plan": {"count": 1}}, {"plan_done": {}}]<|tools_suffix|>',
    { calls: [call('plan', { count: 1 }), call('plan_done', {})] },
  ],
  [
    'DeepSeek V3: in a fence',
    formats.deepseek3,
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>plan\n```json\n{"text": "```"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>plan_done\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    { calls: [call('plan', { text: '```' }), call('plan_done', {})] },
  ],
  [
    'JSON in a JSON string',
    formats.quoted,
    '<call>{"name": "plan", "arguments": "{\\"text\\": \\"a\\\\n\\\\\\"\\"}"}</call><call>{"name": "plan_done", "arguments": "{}"}</call>',
    { calls: [call('plan', { text: 'a\n"' }), call('plan_done', {})] },
  ],
  [
    'LFM2: a Python list',
    formats.lfm2,
    `<|tool_call_start|>[plan(text='it\\'s "a"\\n\\x41\\u00e4\\U0001F600\\d', count=-3, ratio=.5, isOn=True, maybe=None, list=['a', [1, 2], {'k': False, "j": null}], any="b)]"), plan_done()]<|tool_call_end|>ok`,
    {
      content: 'ok',
      calls: [
        call('plan', {
          text: 'it\'s "a"\nAä😀\\d',
          count: -3,
          ratio: 0.5,
          isOn: true,
          maybe: null,
          list: ['a', [1, 2], { k: false, j: null }],
          any: 'b)]',
        }),
        call('plan_done', {}),
      ],
    },
  ],
  [
    'LFM2: white space, commas at the end',
    formats.lfm2,
    "<|tool_call_start|>[plan( text = 'a' ,\n list = [ 1 , 2 , ] , inner = { } , )]<|tool_call_end|>",
    { calls: [call('plan', { text: 'a', list: [1, 2], inner: {} })] },
  ],
  [
    'Llama 3.2: a list that is not a call',
    formats.llama32,
    '[plan, plan(1), plan()]',
    { content: '[plan, plan(1), plan()]' },
  ],
  [
    'Llama 3.2',
    formats.llama32,
    "[plan(text='a'), plan_done()]",
    { calls: [call('plan', { text: 'a' }), call('plan_done', {})] },
  ],
  [
    'Olmo 3: one call per line',
    formats.olmo3,
    '<function_calls>plan(isOn=true, maybe=null)\nplan_done()</function_calls>',
    { calls: [call('plan', { isOn: true, maybe: null }), call('plan_done', {})] },
  ],
]

function parsed({ content, calls }: Told) {
  return {
    content,
    calls: calls.map((one) => ({ ...one, arguments: JSON.parse(one.arguments) as unknown })),
  }
}

for (const [name, format, text, wanted] of cases) {
  test(name, () => {
    const reading = { format, tools: [plan, done] }
    const whole = read(text, reading)
    assert.deepEqual(parsed(whole), { content: '', calls: [], ...wanted }, JSON.stringify(whole))
    for (const pieces of everyCut(text)) {
      assert.deepEqual(told(partsOf(pieces, reading)), whole, JSON.stringify(pieces))
    }
    for (let end = 0; end < text.length; end++) {
      const cut = read(text.slice(0, end), reading)
      for (const pieces of [[...text.slice(0, end)], [text.slice(0, end >> 1), text.slice(end >> 1, end)]]) {
        assert.deepEqual(told(partsOf(pieces, reading)), cut, `cut off at ${end}`)
      }
      // Text that is not a call may be cut off where it looks like one.
      if (whole.calls.length === 0) continue
      const calls = whole.calls.slice(0, cut.calls.length)
      assert.deepEqual(
        cut.calls.map((one) => one.name),
        calls.map((one) => one.name),
        `cut off at ${end}`,
      )
    }
  })
}
