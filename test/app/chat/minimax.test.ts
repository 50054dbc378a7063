import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, assertRefused, chatUrl } from '../../support/chat.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

/** As much of the template as shows what its calls are made of. */
const chat_template =
  '{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}]<]minimax[>[<{{ k }}>{{ v }}]<]minimax[>[</{{ k }}>{% endfor %}]<]minimax[>[</invoke>]<]minimax[>[</tool_call>{% endfor %}\n{% endfor %}{% for t in tools %}{{ t.function.name }}{% endfor %}'

const knit = (strict: boolean) => ({
  type: 'function',
  function: { name: 'knit', parameters: { type: 'object', properties: {} }, strict },
})

test('calls that have no grammar are refused where they would have to fit one', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const refused = async (fields: object, param: string) =>
    assertRefused(await post(chatUrl, asking({ chat_template, ...fields })), {
      status: 400,
      code: 'not_available',
      param,
      message: /MiniMax-M3/,
    })
  await refused({ tools: [knit(false)], tool_choice: 'required' }, 'tool_choice')
  await refused({ tools: [knit(true)] }, 'tools.0.function.parameters')
})
