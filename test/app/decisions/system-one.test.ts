import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'
import { deciding } from './deciding.ts'

const weights = { Y: 0.6, N: 0.2, A: 0.1, B: 0.3, C: 0.1, '0': 0.1, '1': 0.1, '2': 0.2 }
const backend = scriptedBackend(deciding(() => weights))
const { post } = await openApp({ after }, { backend })

const url = '/v1/systemone'
const questions = {
  '10': { type: 'noul', instructions: 'Is it rude?', criteria: { true: 'it insults' } },
  '2': { type: 'choice', instructions: { ask: 'Which?' }, criteria: { '10': null, '2': 'two', b: 'last' } },
  __good: { type: 'score', criteria: ['bad', 'fair', 'good'] },
}
/** As text, because objects do not keep the order of names like numbers. */
const asked = (text: string, more = '') => `{"state":{"said":"Hi"},"questions":${text}${more}}`
const ordered = `{"10":${JSON.stringify(questions['10'])},"2":{"type":"choice","instructions":{"ask":"Which?"},"criteria":{"10":null,"2":"two","b":"last"}},"__proto__":${JSON.stringify(questions.__good)}}`

const promptOf = (index: number) => {
  const prompt = backend.asked[index]?.prompt
  return prompt && 'tokens' in prompt ? String.fromCodePoint(...prompt.tokens) : assert.fail()
}

test('answers have the ids and the order of the questions, and labels the order of the criteria', async () => {
  backend.asked.length = 0
  const { status, text, json } = await post(
    url,
    asked(ordered, ',"instructions":"Be strict.","model":"scripted"'),
  )
  assert.equal(status, 200, text)
  const at = ['"10":{"type":"noul"', '"2":{"type":"choice"', '"__proto__":{"type":"score"'].map((id) =>
    text.indexOf(id),
  )
  assert.deepEqual(
    at,
    at.toSorted((a, b) => a - b),
  )
  assert.ok(at.every((index) => index > 0))
  assert.ok(Math.abs(json.answers['10'].noul - 0.75) < 1e-9)
  assert.equal(json.answers['2'].choice, '2')
  assert.match(text, /"probabilities":\{"10":[^,]+,"2":[^,]+,"b":/)
  const score = Object.getOwnPropertyDescriptor(json.answers, '__proto__')?.value
  assert.deepEqual(score.legend, { '0': 'bad', '1': 'fair', '2': 'good' })
  assert.ok(Math.abs(score.score - 1.25) < 1e-9)
  assert.equal(json.usage.output_tokens, 0)
  assert.equal(json.object, 'structured_decision')
  assert.ok(json.diagnostics['10'].label_mass > 0.79)
  assert.ok(promptOf(0).includes('Be strict.<|end|>'))
  assert.ok(promptOf(0).includes('{"said":"Hi"}\n---\nIs it rude?\nyes: it insults<|end|>'))
  assert.ok(promptOf(1).includes('{"ask":"Which?"}\nA: 10\nB: 2. two\nC: b. last<|end|>'))
  // Without instructions the id is the question.
  assert.ok(promptOf(2).includes('---\n__proto__\n0: bad'))
})

for (const [what, text, param] of [
  ['no questions', '{}', 'questions'],
  ['a list of questions', '[]', 'questions'],
  ['a question that is a text', '{"a":"Is it?"}', 'questions.a'],
  ['another type', '{"a":{"type":"predicate"}}', 'questions.a.type'],
  ['a type of all objects', '{"a":{"type":"constructor"}}', 'questions.a.type'],
  ['an unknown field', '{"a":{"type":"noul","levels":[]}}', 'questions.a.levels'],
  ['an empty question', '{"a":{"type":"noul","instructions":""}}', 'questions.a.instructions'],
  ['a choice without criteria', '{"a":{"type":"choice"}}', 'questions.a.criteria'],
  ['a question that is given twice', '{"a":{"type":"noul"},"a":{"type":"noul"}}', 'questions.a'],
  ['a field that is given twice', '{"a":{"type":"score","type":"noul"}}', 'questions.a.type'],
  [
    'a label that is given twice',
    '{"a":{"type":"choice","criteria":{"x":null,"x":"y"}}}',
    'questions.a.criteria.x',
  ],
  ['no labels', '{"a":{"type":"choice","criteria":{}}}', 'questions.a.criteria'],
  ['a label without a text', '{"a":{"type":"choice","criteria":{"x":1,"y":null}}}', 'questions.a.criteria.x'],
  ['an empty level', '{"a":{"type":"score","criteria":["x",""]}}', 'questions.a.criteria.1'],
  ['an empty label', '{"a":{"type":"choice","criteria":{"":"x","y":null}}}', 'questions.a.criteria.'],
  ['one level', '{"a":{"type":"score","criteria":["x"]}}', 'questions.a.criteria'],
  ['other criteria', '{"a":{"type":"noul","criteria":{"yes":"x"}}}', 'questions.a.criteria.yes'],
  [
    '401 questions',
    JSON.stringify(Object.fromEntries(Array.from({ length: 401 }, (_, i) => [`q${i}`, { type: 'noul' }]))),
    'questions',
  ],
] as const) {
  test(`${what} is refused by name`, async () => {
    const { status, json } = await post(url, asked(text))
    assert.deepEqual([status, json.error?.param], [400, param])
  })
}

for (const [name, value, field = name] of [
  ['images', '["data:image/png;base64,AA=="]', 'images.0'],
  ['files', '["data:image/png;base64,AA=="]', 'files.0'],
  ['files', '["https://example.com/a.png"]', 'files.0'],
  ['stream', 'true'],
] as const) {
  test(`${name} ${value} are refused`, async () => {
    const { status, json } = await post(url, asked(ordered, `,"${name}":${value}`))
    assert.deepEqual([status, json.error?.param], [400, field])
  })
}

test('images and sounds in the messages of a state are refused by a model that reads texts', async () => {
  for (const part of [
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
    { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
  ]) {
    const state = [{ role: 'user', content: [{ type: 'text', text: 'Look' }, part] }]
    const { status, json } = await post(url, { state, questions: { a: { type: 'noul' } } })
    assert.deepEqual([status, json.error?.param], [400, 'state.0.content.1'], part.type)
  }
  const plain = { state: [{ type: 'image_url' }, { role: 'user', content: 'Hi' }], files: [], images: null }
  assert.equal((await post(url, { ...plain, questions: { a: { type: 'noul' } } })).status, 200)
})

test('an empty state is refused, and a choice of one label is sure', async () => {
  const empty = await post(url, '{"state":"","questions":{"a":{"type":"noul"}}}')
  assert.deepEqual([empty.status, empty.json.error?.param], [400, 'state'])
  const { json } = await post(url, asked('{"a":{"type":"choice","criteria":{"x":null}}}'))
  assert.deepEqual([json.answers.a.confidence, json.answers.a.probabilities], [1, { x: 1 }])
})

test('the switch of thoughts that vLLM documents is accepted where it says what holds anyway', async () => {
  const asking = (thinks: boolean) =>
    post(url, asked(ordered, `,"chat_template_kwargs":{"enable_thinking":${thinks}}`))
  const { status, headers } = await asking(false)
  assert.deepEqual([status, headers['x-heddle-ignored-fields']], [200, undefined])
  const refused = await asking(true)
  assert.deepEqual([refused.status, refused.json.error.param], [400, 'chat_template_kwargs.enable_thinking'])
})

test('the body tells what is asked and how it is answered, on either path', async () => {
  const openAi = { input: 'Hi', questions: [{ type: 'predicate', instructions: 'Is it rude?' }] }
  const stated = { state: 'Hi', questions: { rude: { type: 'noul', instructions: 'Is it rude?' } } }
  for (const path of ['/v1/decisions', url]) {
    const { json: listed } = await post(path, openAi)
    assert.deepEqual([listed.object, listed.answers[0].type], ['decision', 'predicate'], path)
    const { json: named } = await post(path, stated)
    assert.deepEqual([named.object, named.answers.rude.type], ['structured_decision', 'noul'], path)
    assert.equal(named.answers.rude.noul, listed.answers[0].probability)
    for (const [body, field] of [
      [{ ...openAi, state: 'Hi' }, 'state'],
      [{ ...stated, input: 'Hi' }, 'input'],
      [{ questions: openAi.questions }, 'input'],
      [{ questions: stated.questions }, 'state'],
      [{ ...stated, state: null }, 'state'],
      [{ ...openAi, state: 'Hi', input: null }, 'questions'],
      [{ input: 'Hi', questions: stated.questions }, 'questions'],
      [{ input: 'Hi', state: 'Hi' }, 'state'],
      [{}, 'input'],
      [{ ...openAi, input: 7 }, 'input'],
      [{ ...openAi, input: { text: 'Hi' } }, 'input'],
      [{ ...openAi, input: [['Hi']] }, 'input.0'],
      [{ ...openAi, input: null, state: null }, 'input'],
      [{ ...openAi, questions: 'rude' }, 'questions'],
      [{ ...openAi, questions: null }, 'questions'],
      [{ ...openAi, questions: ['rude'] }, 'questions.0'],
      [{ ...stated, questions: 'rude' }, 'questions'],
      [{ ...stated, questions: null }, 'questions'],
      [{ ...stated, questions: { rude: ['noul'] } }, 'questions.rude'],
      [{ ...stated, state: ' ' }, 'state'],
    ] as const) {
      const { status, json } = await post(path, body)
      assert.deepEqual([status, json.error?.param], [400, field], `${path} ${JSON.stringify(body)}`)
      assert.match(json.error.message, new RegExp(`: ${field}: |^${field}: `))
    }
    const ignored = (await post(path, { ...openAi, images: [] })).headers['x-heddle-ignored-fields']
    assert.equal(ignored, 'images')
  }
})
