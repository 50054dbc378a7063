import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { traits } from '../../src/domain/fields.ts'
import { ChatBody } from '../../src/operations/chat/contract.ts'
import { basic, keys } from '../support/app.ts'
import { asking, chatUrl, eventsOf } from '../support/chat.ts'
import {
  type AnswerChoice,
  type AnswerContent,
  type ChatServer,
  startChatServer,
} from '../support/chat-server.ts'

type Fields = Record<string, unknown>

interface Called {
  id?: string | undefined
  function: { name?: string | undefined }
}

interface Case {
  /** Checks the effect of the field on an answer. */
  effect: () => Promise<void>
  /** Bodies that are refused with a 400 and the name of the field. */
  bad: Fields[]
}

/** Bytes, some pairs of letters and control tokens: enough that an answer does not repeat one word for ever. */
const shape = { vocabulary: 400, layers: 2, hidden: 64, addBos: true }
const bos = 396
const opening = 397
const end = 398

const tool = (name: string) => ({
  type: 'function',
  function: { name, description: `${name}s`, parameters: { type: 'object', properties: {} } },
})

/** A template that shows thoughts and opens one for the model. */
const thinking =
  '{% for message in messages %}{{ message.role }}:{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}{{ message.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:<think>{% endif %}'

/** Refusals whose message does not contain the name of the field. */
const inOtherWords = new Set(['template_failed', 'context_length_exceeded'])

const greedy = { temperature: 0, max_tokens: 12 }
const candid = { logprobs: true, top_logprobs: 20, return_tokens_as_token_ids: true }

describe('P2: every field is honoured, or refused by name', () => {
  const cleaning: (() => unknown)[] = []
  let server: ChatServer

  before(async () => {
    server = await startChatServer(
      { after: (clean: () => unknown) => void cleaning.push(clean) },
      { model: shape, settings: { HEDDLE_MODEL_NAME: 'tiny,alias/of-it', HEDDLE_PARALLEL: '4' } },
    )
  })
  after(async () => {
    assert.equal(await server.end('SIGTERM'), 0)
    for (const clean of cleaning.reverse()) await clean()
  })

  const said = (fields: Fields = {}) => server.said(fields)

  /** The single choice of an answer. */
  async function one(fields: Fields): Promise<AnswerChoice> {
    const { choices } = await said(fields)
    assert.equal(choices.length, 1)
    return choices[0] as AnswerChoice
  }

  /** The prompt as the model saw it. */
  async function promptText(fields: Fields): Promise<string> {
    const { promptTokens } = await said({ max_tokens: 1, ...fields })
    return server.detokenize(promptTokens)
  }

  /** Long enough for a call to these tools. */
  const brief = { seed: 1, max_tokens: 200 }

  async function calls(fields: Fields): Promise<Called['function'][]> {
    const { json, text } = await server.ask({ ...brief, ...fields })
    if (json !== undefined) return json.choices[0].message.tool_calls.map((call: Called) => call.function)
    return eventsOf(text).chunks.flatMap(({ choices: [choice] }) => {
      const begun: Called[] = choice?.delta.tool_calls ?? []
      return begun.flatMap(({ id, function: called }) => (id === undefined ? [] : [called]))
    })
  }

  async function thoughtOf(fields: Fields) {
    const { json, text } = await server.ask({
      ...brief,
      max_tokens: 40,
      ...fields,
      ...(fields.stream === true && { stream_options: { include_usage: true } }),
    })
    if (json !== undefined) return { reasoning: json.choices[0].message.reasoning ?? '', usage: json.usage }
    const { chunks } = eventsOf(text)
    const reasoning = chunks.map(({ choices: [choice] }) => choice?.delta.reasoning ?? '').join('')
    return { reasoning, usage: chunks.at(-1)?.usage }
  }

  /** The id of the token for this letter. */
  async function letter(text: string): Promise<number> {
    const tokens = await server.tokenize(text)
    assert.equal(tokens.length, 1)
    return tokens[0] as number
  }

  async function sameAsWithout(fields: Fields): Promise<void> {
    const setting = { ...greedy, ...candid }
    const without = comparable(await said(setting))
    assert.deepEqual(comparable(await said({ ...setting, ...fields })), without, JSON.stringify(fields))
  }

  /** Checks that each drawn token is the most likely one after the penalty, and that the penalty changes some draws. */
  async function drawsBy(fields: Fields, penalty: (token: number, before: readonly number[]) => number) {
    const { tokens, logprobs } = await one({ ...greedy, max_tokens: 40, ...candid, ...fields })
    let changed = 0
    for (const [place, { top_logprobs }] of logprobs.entries()) {
      const candidates = top_logprobs.map(({ token, logprob }) => {
        const id = idOf(token)
        return { id, value: logprob - penalty(id, tokens.slice(0, place)) }
      })
      const best = candidates.reduce((most, other) => (other.value > most.value ? other : most))
      // No token gains from a penalty: one outside the candidates stays below the last of them.
      assert.ok(best.value >= (top_logprobs.at(-1)?.logprob ?? 0), 'the best token is among the candidates')
      assert.equal(tokens[place], best.id, `token ${place}`)
      if (best.id !== candidates[0]?.id) changed++
    }
    assert.ok(changed > 0, 'the penalty changes some draws')
  }

  const cases = {
    messages: {
      async effect() {
        const of = (content: string) => promptText({ messages: [{ role: 'user', content }] })
        assert.match(await of('Hello'), /<\|im_start\|>user\nHello<\|im_end\|>/)
        assert.match(await of('Goodbye'), /<\|im_start\|>user\nGoodbye<\|im_end\|>/)
      },
      bad: [
        { messages: 'Hi' },
        { messages: [{ role: 'user', content: 'x'.repeat(5_000) }] },
        { messages: [] },
        { messages: null },
        { messages: [{ content: 'Hi' }] },
      ],
    },
    model: {
      async effect() {
        for (const model of ['tiny', 'alias/of-it', '', null])
          assert.equal((await said({ model })).model, 'tiny')
        const { status, json } = await server.ask({ model: 'other' })
        assert.deepEqual([status, json.error.param, json.error.code], [404, 'model', 'model_not_found'])
      },
      bad: [{ model: 5 }],
    },
    add_generation_prompt: {
      async effect() {
        const open = '<|im_start|>assistant\n'
        assert.ok((await promptText({})).endsWith(open))
        assert.ok(!(await promptText({ add_generation_prompt: false })).endsWith(open))
        assert.equal((await one({ ...greedy, add_generation_prompt: false })).role, 'user')
      },
      bad: [{ add_generation_prompt: null }, { add_generation_prompt: 'perhaps' }],
    },
    continue_final_message: {
      async effect() {
        const messages = [...asking().messages, { role: 'assistant', content: 'Well, ' }]
        const fields = { messages, add_generation_prompt: false }
        assert.ok((await promptText(fields)).endsWith('Well, <|im_end|>\n'))
        assert.ok((await promptText({ ...fields, continue_final_message: true })).endsWith('Well, '))
      },
      bad: [{ continue_final_message: true }, { continue_final_message: null }],
    },
    echo: {
      async effect() {
        const messages = [...asking().messages, { role: 'assistant', content: 'Well, ' }]
        const fields = { ...greedy, messages, add_generation_prompt: false, continue_final_message: true }
        const { content } = await one(fields)
        for (const stream of [false, true]) {
          assert.equal((await one({ ...fields, echo: true, stream })).content, `Well, ${content}`)
        }
      },
      bad: [{ echo: null }, { echo: 'loud' }],
    },
    add_special_tokens: {
      async effect() {
        const plain = (await said({ max_tokens: 1 })).promptTokens
        const added = (await said({ max_tokens: 1, add_special_tokens: true })).promptTokens
        assert.deepEqual(added, [bos, ...plain])
      },
      bad: [{ add_special_tokens: null }, { add_special_tokens: 5 }],
    },
    chat_template: {
      async effect() {
        const chat_template = 'They say: {{ messages[0].content }}'
        assert.equal(await promptText({ chat_template }), 'They say: Hi')
      },
      bad: [{ chat_template: 5 }, { chat_template: '{% if %}' }],
    },
    chat_template_kwargs: {
      async effect() {
        const chat_template = '{{ tone }}: {{ messages[0].content }}'
        assert.equal(await promptText({ chat_template, chat_template_kwargs: { tone: 'loud' } }), 'loud: Hi')
      },
      bad: [{ chat_template_kwargs: 5 }, { chat_template_kwargs: { tokenize: true } }],
    },
    documents: {
      async effect() {
        const chat_template = '{% for one in documents %}{{ one.title }}={{ one.text }};{% endfor %}'
        const documents = [
          { title: 'a', text: 'b' },
          { title: 'c', text: 'd' },
        ]
        assert.equal(await promptText({ chat_template, documents }), 'a=b;c=d;')
      },
      bad: [{ documents: {} }, { documents: [{ title: 5 }] }],
    },
    reasoning_effort: {
      async effect() {
        const chat_template = 'effort {{ reasoning_effort }}'
        assert.equal(await promptText({ chat_template, reasoning_effort: 'low' }), 'effort low')
      },
      bad: [{ reasoning_effort: 'huge' }, { reasoning_effort: 5 }],
    },
    include_reasoning: {
      async effect() {
        const fields = { chat_template: thinking, thinking_token_budget: 3 }
        assert.notEqual((await thoughtOf(fields)).reasoning, '')
        for (const stream of [false, true]) {
          const hidden = await thoughtOf({ ...fields, include_reasoning: false, stream })
          assert.equal(hidden.reasoning, '')
          assert.ok(hidden.usage.completion_tokens_details.reasoning_tokens > 0)
        }
      },
      bad: [{ include_reasoning: null }],
    },
    max_completion_tokens: {
      async effect() {
        const { usage } = await said({ ...greedy, max_tokens: 5, max_completion_tokens: 3 })
        assert.equal(usage.completion_tokens, 3)
      },
      bad: [{ max_completion_tokens: 0 }, { max_completion_tokens: 1.5 }, { max_completion_tokens: 5_000 }],
    },
    max_tokens: {
      async effect() {
        const { usage, choices } = await said({ temperature: 0, max_tokens: 5 })
        assert.deepEqual([usage.completion_tokens, choices[0]?.finish_reason], [5, 'length'])
      },
      bad: [{ max_tokens: 0 }, { max_tokens: 'many' }, { max_tokens: 5_000 }],
    },
    frequency_penalty: {
      effect: () =>
        drawsBy(
          { frequency_penalty: 1.5 },
          (token, all) => 1.5 * all.filter((other) => other === token).length,
        ),
      bad: [{ frequency_penalty: 2.1 }, { frequency_penalty: true }],
    },
    presence_penalty: {
      effect: () => drawsBy({ presence_penalty: 1.5 }, (token, all) => (all.includes(token) ? 1.5 : 0)),
      bad: [{ presence_penalty: -2.1 }, { presence_penalty: 'much' }],
    },
    repetition_penalty: {
      async effect() {
        const fields = { ...greedy, max_tokens: 40 }
        const plain = await said(fields)
        const plainTokens = plain.choices[0]?.tokens ?? []
        assert.ok(new Set(plainTokens).size < plainTokens.length, 'without the penalty tokens repeat')
        const { tokens } = await one({ ...fields, repetition_penalty: 1000 })
        assert.equal(
          new Set([...tokens, ...plain.promptTokens]).size,
          tokens.length + new Set(plain.promptTokens).size,
        )
      },
      bad: [{ repetition_penalty: 0 }, { repetition_penalty: 'x' }],
    },
    temperature: {
      async effect() {
        const cold = await one({ ...greedy, ...candid })
        assert.deepEqual(
          cold.tokens,
          cold.logprobs.map(({ top_logprobs }) => idOf(top_logprobs[0]?.token)),
        )
        const answers = await Promise.all(
          [1, 2, 3].map((seed) => one({ ...greedy, ...candid, temperature: 2, seed })),
        )
        assert.equal(new Set([cold, ...answers].map(({ tokens }) => String(tokens))).size, 4)
        // Log-probabilities are those of the model, before the temperature.
        for (const { logprobs } of answers)
          assert.deepEqual(logprobs[0]?.top_logprobs, cold.logprobs[0]?.top_logprobs)
      },
      bad: [{ temperature: -1 }, { temperature: 'warm' }],
    },
    top_p: {
      async effect() {
        assert.deepEqual(
          (await one({ max_tokens: 12, top_p: 1e-6, seed: 1 })).tokens,
          (await one(greedy)).tokens,
        )
        const { logprobs } = await one({ max_tokens: 60, top_p: 0.4, seed: 1, ...candid })
        for (const { logprob, top_logprobs } of logprobs) {
          const likelier = top_logprobs.filter((other) => other.logprob > logprob)
          const together = likelier.reduce((sum, other) => sum + Math.exp(other.logprob), 0)
          assert.ok(together < 0.4, `the more likely tokens have ${together} together`)
        }
      },
      bad: [{ top_p: 0 }, { top_p: 1.1 }],
    },
    top_k: {
      async effect() {
        assert.deepEqual(
          (await one({ max_tokens: 12, top_k: 1, seed: 1 })).tokens,
          (await one(greedy)).tokens,
        )
        const { tokens, logprobs } = await one({ max_tokens: 60, top_k: 3, seed: 1, ...candid })
        const places = tokens.map((token, place) => placeOf(token, logprobs[place]))
        assert.deepEqual(new Set(places), new Set([0, 1, 2]))
      },
      bad: [{ top_k: -2 }, { top_k: 1.5 }],
    },
    min_p: {
      async effect() {
        assert.deepEqual(
          (await one({ max_tokens: 12, min_p: 1, seed: 1 })).tokens,
          (await one(greedy)).tokens,
        )
        const { logprobs } = await one({ max_tokens: 60, min_p: 0.3, seed: 1, ...candid })
        for (const { logprob, top_logprobs } of logprobs) {
          assert.ok(logprob >= (top_logprobs[0]?.logprob ?? 0) + Math.log(0.3) - 1e-4)
        }
      },
      bad: [{ min_p: -0.1 }, { min_p: 1.1 }],
    },
    seed: {
      async effect() {
        // The second seed differs from the first by less than a double can represent.
        const tokensOf = async (seed: string) => {
          const body = `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":20,"return_token_ids":true,"seed":${seed}}`
          const answer = await server.post(chatUrl, body)
          assert.equal(answer.status, 200)
          const { choices } = (await answer.json()) as { choices: { token_ids: number[] }[] }
          return String(choices[0]?.token_ids)
        }
        const seeds = [
          '9007199254740992',
          '9007199254740993',
          '-9223372036854775808',
          '9223372036854775807',
          '0',
        ]
        const answers = []
        for (const seed of seeds) answers.push(await tokensOf(seed))
        assert.equal(new Set(answers).size, seeds.length)
        for (const [i, seed] of seeds.entries()) assert.equal(await tokensOf(seed), answers[i])
        const free = await Promise.all([1, 2, 3].map(() => tokensOf('null')))
        assert.ok(new Set(free).size > 1)
      },
      bad: [{ seed: 1.5 }, { seed: 'x' }],
    },
    random_seed: {
      async effect() {
        const { tokens } = await one({ seed: 7, max_tokens: 20 })
        assert.deepEqual((await one({ random_seed: 7, max_tokens: 20 })).tokens, tokens)
      },
      bad: [{ random_seed: 1.5 }],
    },
    n: {
      async effect() {
        const { choices } = await said({ n: 3, seed: 10, max_tokens: 20 })
        for (const [i, { tokens }] of choices.entries()) {
          assert.deepEqual((await one({ seed: 10 + i, max_tokens: 20 })).tokens, tokens)
        }
        assert.equal(choices.length, 3)
      },
      bad: [{ n: 0 }, { n: 129 }, { n: 2, temperature: 0 }],
    },
    logit_bias: {
      async effect() {
        const { tokens } = await one(greedy)
        const first = tokens[0] as number
        const banned = await one({ ...greedy, logit_bias: { [first]: -100 } })
        assert.ok(!banned.tokens.includes(first))
        const other = first === 65 ? 66 : 65
        const forced = await one({ ...greedy, logit_bias: { [other]: 100 } })
        assert.deepEqual(new Set(forced.tokens), new Set([other]))
        const ended = await said({ ...greedy, logit_bias: { [end]: 100 } })
        assert.deepEqual([ended.choices[0]?.finish_reason, ended.usage.completion_tokens], ['stop', 1])
      },
      bad: [{ logit_bias: { a: 1 } }, { logit_bias: { 5: 'x' } }, { logit_bias: { 99999: 1 } }],
    },
    allowed_token_ids: {
      async effect() {
        const { tokens } = await one({
          max_tokens: 60,
          seed: 1,
          temperature: 5,
          allowed_token_ids: [70, 71, 72],
        })
        assert.deepEqual(new Set(tokens), new Set([70, 71, 72]))
      },
      bad: [
        { allowed_token_ids: [] },
        { allowed_token_ids: [99999] },
        { allowed_token_ids: [1.5] },
        { allowed_token_ids: [end], min_tokens: 2 },
        {
          allowed_token_ids: [97, 98],
          bad_words: Array.from({ length: 256 }, (_, i) => String.fromCodePoint(i + 1)),
        },
      ],
    },
    bad_words: {
      async effect() {
        const allowed_token_ids = [await letter('q'), await letter('z')]
        const fields = { max_tokens: 60, seed: 1, temperature: 5, allowed_token_ids }
        assert.match((await one(fields)).content, /qz/)
        assert.match((await one({ ...fields, bad_words: ['qz'] })).content, /^z*q+$/)
        assert.match((await one({ ...fields, bad_words: ['q'] })).content, /^z{60}$/)
        // These two letters are one token together, and one token each.
        assert.equal((await server.tokenize('th')).length, 1)
        const letters = { ...fields, allowed_token_ids: [await letter('t'), await letter('h')] }
        assert.match((await one(letters)).content, /th/)
        for (const stream of [false, true]) {
          assert.match((await one({ ...letters, stream, bad_words: ['th'] })).content, /^h*t+$/)
        }
      },
      bad: [{ bad_words: [''] }, { bad_words: null }],
    },
    use_beam_search: {
      async effect() {
        // With two steps all continuations of all beams can be checked.
        const width = 4
        const { top_logprobs } = (await one({ ...greedy, max_tokens: 1, ...candid })).logprobs[0] ?? {}
        const firsts = top_logprobs?.slice(0, width) ?? []
        const pairs = []
        for (const first of firsts) {
          const forced = await one({
            ...greedy,
            ...candid,
            max_tokens: 2,
            logit_bias: { [idOf(first.token)]: 100 },
          })
          for (const second of forced.logprobs[1]?.top_logprobs ?? []) {
            pairs.push({
              tokens: [idOf(first.token), idOf(second.token)],
              sum: first.logprob + second.logprob,
            })
          }
        }
        pairs.sort((one, other) => other.sum - one.sum)
        const { choices } = await said({ use_beam_search: true, n: width, max_tokens: 2 })
        assert.deepEqual(
          choices.map(({ tokens }) => tokens),
          pairs.slice(0, width).map(({ tokens }) => tokens),
        )
      },
      bad: [{ use_beam_search: null }, { use_beam_search: 'x' }],
    },
    length_penalty: {
      async effect() {
        // Likely end tokens give answers of many lengths.
        const likely = (await one({ ...greedy, max_tokens: 40 })).tokens
        const fields = {
          use_beam_search: true,
          n: 4,
          max_tokens: 40,
          stop_token_ids: likely.slice(6, 12),
          logprobs: true,
        }
        for (const length_penalty of [-4, 0, 1, 8]) {
          const { choices, promptTokens } = await said({ ...fields, length_penalty })
          const ranks = choices.map(({ tokens, logprobs, finish_reason }) => {
            const length = promptTokens.length + tokens.length - (finish_reason === 'stop' ? 1 : 0)
            return logprobs.reduce((sum, { logprob }) => sum + logprob, 0) / length ** length_penalty
          })
          assert.deepEqual(
            ranks,
            ranks.toSorted((one, other) => other - one),
          )
        }
        const lengths = async (length_penalty: number) =>
          (await said({ ...fields, length_penalty })).usage.completion_tokens
        assert.ok((await lengths(8)) > (await lengths(-4)), 'a high penalty favours long answers')
      },
      bad: [{ length_penalty: null }, { length_penalty: 'x' }],
    },
    min_tokens: {
      async effect() {
        const { tokens } = await one(greedy)
        const early = { ...greedy, stop_token_ids: [tokens[0]] }
        assert.equal((await said(early)).usage.completion_tokens, 1)
        const late = await one({ ...early, min_tokens: 5 })
        assert.ok(late.tokens.length > 5 && !late.tokens.slice(0, 5).includes(tokens[0] as number))
      },
      bad: [
        { min_tokens: -1 },
        { min_tokens: null },
        { min_tokens: 5, max_tokens: 4 },
        { min_tokens: 1_020 },
      ],
    },
    stop: {
      async effect() {
        const a = await letter('a')
        const fields = { allowed_token_ids: [a], max_tokens: 6 }
        for (const stream of [false, true]) {
          const { choices, usage } = await said({ ...fields, stop: ['b', 'aaa'], stream })
          const { content, finish_reason, stop_reason } = choices[0] ?? {}
          assert.deepEqual([content, finish_reason, stop_reason], ['', 'stop', 'aaa'])
          assert.equal(usage.completion_tokens, 3)
        }
        assert.equal((await one({ ...fields, stop: 'b' })).content, 'aaaaaa')
      },
      bad: [{ stop: '' }, { stop: [5] }],
    },
    stop_token_ids: {
      async effect() {
        const { tokens } = await one({ ...greedy, max_tokens: 30 })
        const stop = tokens[3] as number
        const stopped = await one({ ...greedy, max_tokens: 30, stop_token_ids: [stop] })
        assert.deepEqual(stopped.tokens, tokens.slice(0, tokens.indexOf(stop) + 1))
        assert.deepEqual([stopped.finish_reason, stopped.stop_reason], ['stop', stop])
      },
      bad: [{ stop_token_ids: ['x'] }, { stop_token_ids: [99999] }],
    },
    ignore_eos: {
      async effect() {
        const fields = { max_tokens: 4, allowed_token_ids: [end] }
        const ended = await one(fields)
        assert.deepEqual([ended.tokens, ended.finish_reason, ended.stop_reason], [[end], 'stop', null])
        const endless = await one({ ...fields, ignore_eos: true })
        assert.deepEqual([endless.tokens, endless.finish_reason], [[end, end, end, end], 'length'])
      },
      bad: [{ ignore_eos: null }, { ignore_eos: 5 }],
    },
    include_stop_str_in_output: {
      async effect() {
        const a = await letter('a')
        const fields = { allowed_token_ids: [a], max_tokens: 6, include_stop_str_in_output: true }
        assert.equal((await one({ ...fields, stop: 'aaa' })).content, 'aaa')
        assert.equal((await one({ ...fields, stop_token_ids: [a] })).content, 'a')
        assert.equal(
          (await one({ ...fields, stop_token_ids: [a], include_stop_str_in_output: false })).content,
          '',
        )
      },
      bad: [{ include_stop_str_in_output: null }, { include_stop_str_in_output: 'x' }],
    },
    repetition_detection: {
      async effect() {
        const a = await letter('a')
        const fields = { allowed_token_ids: [a], max_tokens: 9 }
        const found = await one({
          ...fields,
          repetition_detection: { max_pattern_size: 2, min_pattern_size: 2, min_count: 3 },
        })
        assert.deepEqual(
          [found.content, found.finish_reason, found.stop_reason],
          ['aaaaaa', 'repetition', 'repetition_detected'],
        )
        const off = await one({ ...fields, repetition_detection: { max_pattern_size: 0 } })
        assert.deepEqual([off.content, off.finish_reason], ['aaaaaaaaa', 'length'])
      },
      bad: [
        { repetition_detection: { max_pattern_size: 3, min_count: 2 }, use_beam_search: true },
        { repetition_detection: { max_pattern_size: 3 } },
        { repetition_detection: { min_pattern_size: 1 } },
        { repetition_detection: 5 },
      ],
    },
    skip_special_tokens: {
      async effect() {
        const fields = { max_tokens: 1, allowed_token_ids: [opening] }
        assert.equal((await one(fields)).content, '')
        assert.equal((await one({ ...fields, skip_special_tokens: false })).content, '<|im_start|>')
      },
      bad: [{ skip_special_tokens: null }, { skip_special_tokens: 'x' }],
    },
    spaces_between_special_tokens: {
      async effect() {
        const fields = { max_tokens: 2, allowed_token_ids: [opening], skip_special_tokens: false }
        assert.equal((await one(fields)).content, '<|im_start|> <|im_start|>')
        const close = await one({ ...fields, spaces_between_special_tokens: false })
        assert.equal(close.content, '<|im_start|><|im_start|>')
      },
      bad: [{ spaces_between_special_tokens: null }, { spaces_between_special_tokens: 5 }],
    },
    truncate_prompt_tokens: {
      async effect() {
        const { promptTokens } = await said(greedy)
        const cut = await said({ ...greedy, truncate_prompt_tokens: 5 })
        assert.deepEqual(cut.promptTokens, promptTokens.slice(-5))
        assert.equal(cut.usage.prompt_tokens, 5)
        const messages = [{ role: 'user', content: 'x'.repeat(2_000) }]
        assert.equal((await server.ask({ messages })).status, 400)
        const most = await said({ messages, max_tokens: 24, truncate_prompt_tokens: -1 })
        assert.equal(most.usage.prompt_tokens, 1_000)
        const long = { messages: [{ role: 'user', content: 'Hello '.repeat(6_000) }], max_tokens: 1 }
        const end = (await said({ ...long, truncate_prompt_tokens: 50 })).promptTokens
        const template = '<|im_end|>\n<|im_start|>assistant\n'
        assert.ok(
          'Hello '
            .repeat(50)
            .concat(template)
            .endsWith(await server.detokenize(end)),
        )
        assert.equal(end.length, 50)
        const room = await said({ messages, min_tokens: 24, max_tokens: null, truncate_prompt_tokens: -1 })
        assert.equal(room.usage.prompt_tokens, 1_000)
      },
      bad: [{ truncate_prompt_tokens: 0 }, { truncate_prompt_tokens: -2 }, { truncate_prompt_tokens: 5_000 }],
    },
    truncation_side: {
      async effect() {
        const { promptTokens } = await said(greedy)
        const cut = async (fields: Fields) =>
          (await said({ ...greedy, truncate_prompt_tokens: 5, ...fields })).promptTokens
        assert.deepEqual(await cut({ truncation_side: 'right' }), promptTokens.slice(0, 5))
        assert.deepEqual(await cut({ truncation_side: 'left' }), promptTokens.slice(-5))
        assert.deepEqual(await cut({ truncation_side: null }), promptTokens.slice(-5))
        assert.deepEqual((await said({ ...greedy, truncation_side: 'right' })).promptTokens, promptTokens)
      },
      bad: [{ truncation_side: 'middle' }, { truncation_side: 5 }],
    },
    cache_salt: {
      async effect() {
        const messages = [{ role: 'user', content: 'The same words. '.repeat(10) }]
        const cached = async (cache_salt?: string) =>
          (await said({ ...greedy, messages, ...(cache_salt && { cache_salt }) })).usage.cached
        assert.equal(await cached('red'), 0)
        assert.equal(await cached('blue'), 0)
        assert.ok((await cached('red')) > 50)
        assert.ok((await cached('blue')) > 50)
      },
      bad: [{ cache_salt: '' }, { cache_salt: 5 }],
    },
    prediction: {
      async effect() {
        const plain = await one(greedy)
        const content = `${plain.content} and more`
        const expected = await server.tokenize(content)
        const differs = expected.findIndex((token, at) => token !== plain.tokens[at])
        const counted = async (fields: Fields): Promise<unknown> => {
          const prediction = { type: 'content', content: [{ type: 'text', text: content }] }
          const { json, text } = await server.ask({ ...greedy, prediction, ...fields })
          const usage = json?.usage ?? eventsOf(text).chunks.at(-1)?.usage
          return usage.completion_tokens_details
        }
        const whole = (await counted({})) as Record<string, number>
        const { accepted_prediction_tokens: accepted = 0, rejected_prediction_tokens: rejected } = whole
        assert.equal(accepted + Number(rejected), expected.length)
        assert.ok(accepted >= differs, `${accepted} tokens were accepted, of ${differs} that agree`)
        assert.deepEqual(
          await counted({ stream: true, stream_options: { include_usage: true } }),
          whole,
          'a stream reports the same counts',
        )
        assert.deepEqual(await one({ ...greedy, prediction: { type: 'content', content } }), plain)
      },
      bad: [
        { prediction: 'text' },
        { prediction: { type: 'text', content: 'a' } },
        { prediction: { type: 'content', content: 5 } },
        { prediction: { type: 'content', content: [{ type: 'image_url', text: 'a' }] } },
        { prediction: { type: 'content', content: 'a' }, use_beam_search: true },
        { prediction: { type: 'content', content: 'a b c '.repeat(2_000) } },
      ],
    },
    priority: {
      effect: () => sameAsWithout({ priority: 0 }),
      bad: [{ priority: 1 }, { priority: -1 }, { priority: null }],
    },
    logprobs: {
      async effect() {
        for (const stream of [false, true]) {
          const { tokens, logprobs } = await one({ ...greedy, logprobs: true, stream })
          assert.equal(logprobs.length, tokens.length)
          for (const { logprob, bytes, top_logprobs } of logprobs) {
            assert.ok(logprob <= 0 && bytes.length > 0)
            assert.deepEqual(top_logprobs, [])
          }
          assert.deepEqual((await one({ ...greedy, stream })).logprobs, [])
        }
      },
      bad: [{ logprobs: 'x' }, { logprobs: 5 }],
    },
    top_logprobs: {
      async effect() {
        const { tokens, logprobs } = await one({ max_tokens: 20, seed: 1, ...candid, top_logprobs: 7 })
        for (const [place, { logprob, top_logprobs }] of logprobs.entries()) {
          assert.equal(top_logprobs.length, 7)
          const values = top_logprobs.map((candidate) => candidate.logprob)
          assert.deepEqual(
            values,
            values.toSorted((one, other) => other - one),
          )
          const own = top_logprobs.find(({ token }) => idOf(token) === tokens[place])
          if (own === undefined) assert.ok(logprob <= (values.at(-1) ?? 0))
          else assert.equal(own.logprob, logprob)
        }
      },
      bad: [{ top_logprobs: 1 }, { top_logprobs: 21, logprobs: true }],
    },
    logprob_token_ids: {
      async effect() {
        const asked = { max_tokens: 8, seed: 3, ...candid }
        const likeliest = await one(asked)
        const named = likeliest.logprobs[0]?.top_logprobs.slice(4, 6).map(({ token }) => idOf(token)) ?? []
        for (const stream of [false, true]) {
          const { tokens, logprobs } = await one({
            ...asked,
            logprob_token_ids: [...named, named[0]],
            stream,
          })
          assert.deepEqual(tokens, likeliest.tokens, 'what is listed does not change what is drawn')
          for (const [place, { logprob, top_logprobs }] of logprobs.entries()) {
            const drawn = tokens[place] as number
            assert.deepEqual(
              top_logprobs.map(({ token }) => idOf(token)).toSorted(),
              [...new Set([...named, drawn])].toSorted(),
              'these tokens and the drawn one, each once',
            )
            const values = top_logprobs.map((candidate) => candidate.logprob)
            assert.deepEqual(
              values,
              values.toSorted((a, b) => b - a),
            )
            for (const { token, logprob: value } of top_logprobs) {
              const same = likeliest.logprobs[place]?.top_logprobs.find((other) => other.token === token)
              if (same) assert.ok(Math.abs(same.logprob - value) < 1e-4)
              if (idOf(token) === drawn) assert.equal(value, logprob)
            }
          }
        }
        const searched = { use_beam_search: true, n: 2, max_tokens: 3, ...candid, logprob_token_ids: named }
        for (const { tokens, logprobs } of (await said(searched)).choices) {
          for (const [place, { top_logprobs }] of logprobs.entries()) {
            const listed = new Set([...named, tokens[place] as number])
            assert.deepEqual(new Set(top_logprobs.map(({ token }) => idOf(token))), listed)
          }
        }
      },
      bad: [
        { logprob_token_ids: [5] },
        { logprob_token_ids: [], logprobs: true },
        { logprob_token_ids: [99999], logprobs: true },
        { logprob_token_ids: Array.from({ length: 129 }, (_, id) => id), logprobs: true },
      ],
    },
    prompt_logprobs: {
      async effect() {
        const { json } = await server.ask({ ...greedy, prompt_logprobs: 2, return_token_ids: true })
        const ids: number[] = json.prompt_token_ids
        assert.equal(json.prompt_logprobs.length, ids.length)
        assert.equal(json.prompt_logprobs[0], null)
        for (const [place, id] of ids.entries()) {
          if (place === 0) continue
          const entry: Record<string, { logprob: number; rank: number; decoded_token: string }> =
            json.prompt_logprobs[place]
          const own = entry[id]
          assert.ok(own !== undefined && own.logprob <= 0 && own.rank >= 1)
          assert.equal(Object.keys(entry).length, own.rank <= 2 ? 2 : 3)
        }
        assert.ok(!('prompt_logprobs' in (await server.ask(greedy)).json))
      },
      bad: [{ prompt_logprobs: 21 }, { prompt_logprobs: 1, stream: true }],
    },
    return_token_ids: {
      async effect() {
        // Letters only: part of a character has no text to compare.
        const allowed_token_ids = await server.tokenize('etaoinshrdlu zxq.,')
        for (const stream of [false, true]) {
          const { choices, promptTokens } = await said({ allowed_token_ids, max_tokens: 30, seed: 3, stream })
          assert.equal(await server.detokenize(choices[0]?.tokens ?? []), choices[0]?.content)
          assert.match(await server.detokenize(promptTokens), /user\nHi<\|im_end\|>/)
        }
        const { json } = await server.ask(greedy)
        assert.ok(!('prompt_token_ids' in json) && !('token_ids' in json.choices[0]))
      },
      bad: [{ return_token_ids: 'x' }],
    },
    return_prompt_text: {
      async effect() {
        const expected = await promptText({})
        const { json } = await server.ask({ ...greedy, return_prompt_text: true })
        assert.equal(json.prompt_text, expected)
        const { text } = await server.ask({ ...greedy, return_prompt_text: true, stream: true })
        const [first, ...others] = eventsOf(text).chunks
        assert.equal(first?.prompt_text, expected)
        assert.ok(others.every((chunk) => !('prompt_text' in chunk)))
        assert.ok(!('prompt_text' in (await server.ask(greedy)).json))
      },
      bad: [{ return_prompt_text: 'x' }],
    },
    stream_interval: {
      async effect() {
        const streamed = async (fields: Fields) => {
          const asked = {
            ...greedy,
            n: 1,
            max_tokens: 10,
            ignore_eos: true,
            return_token_ids: true,
            ...fields,
          }
          const { text } = await server.ask({ ...asked, stream: true })
          const choices = eventsOf(text).chunks.flatMap((chunk) => chunk.choices)
          return choices.flatMap((choice) => (choice.token_ids ? [choice.token_ids as number[]] : []))
        }
        const every = await streamed({})
        const grouped = await streamed({ stream_interval: 4 })
        assert.deepEqual(grouped.flat(), every.flat())
        assert.ok(grouped.slice(1, -1).every((tokens) => tokens.length >= 4))
        assert.ok(grouped.length <= 4)
        await sameAsWithout({ stream_interval: 4 })
      },
      bad: [{ stream_interval: 0 }, { stream_interval: 'x' }],
    },
    session_id: noEffect('a session', null)('session_id', [{ session_id: '' }, { session_id: 5 }]),
    verbosity: {
      async effect() {
        const chat_template = '{{ verbosity }}|{% for m in messages %}{{ m.content }}{% endfor %}'
        assert.match(await promptText({ chat_template, verbosity: 'low' }), /low\|Hi$/)
        await sameAsWithout({ verbosity: 'high' })
      },
      bad: [{ verbosity: 'huge' }, { verbosity: 5 }],
    },
    return_tokens_as_token_ids: {
      async effect() {
        const fields = { ...greedy, logprobs: true, top_logprobs: 2, return_tokens_as_token_ids: true }
        const { tokens, logprobs } = await one(fields)
        assert.deepEqual(
          logprobs.map(({ token }) => token),
          tokens.map((id) => `token_id:${id}`),
        )
        for (const { top_logprobs } of logprobs) {
          for (const { token } of top_logprobs) assert.match(token, /^token_id:\d+$/)
        }
      },
      bad: [{ return_tokens_as_token_ids: 'x' }],
    },
    stream: {
      async effect() {
        const answer = await server.ask({ ...greedy, stream: true })
        assert.equal(answer.json, undefined)
        assert.ok(eventsOf(answer.text).chunks.length > 1)
        assert.equal((await server.ask({ ...greedy, stream: null })).json.object, 'chat.completion')
      },
      bad: [{ stream: 'x' }],
    },
    stream_options: {
      async effect() {
        const chunksOf = async (stream_options: unknown) =>
          eventsOf((await server.ask({ ...greedy, stream: true, stream_options })).text).chunks
        for (const none of [null, {}, { include_usage: false }]) {
          assert.ok((await chunksOf(none)).every((chunk) => !('usage' in chunk)))
        }
        const last = (await chunksOf({ include_usage: true })).at(-1)
        assert.deepEqual([last?.choices, last?.usage?.completion_tokens], [[], 12])
        const running = await chunksOf({ include_usage: true, continuous_usage_stats: true })
        const counts = running.map(({ usage }) => usage?.completion_tokens ?? -1)
        assert.deepEqual(
          counts,
          counts.toSorted((one, other) => one - other),
        )
        assert.deepEqual([counts[0], counts.at(-1)], [0, 12])
      },
      bad: [
        { stream_options: { include_usage: true }, stream: false },
        { stream_options: 5, stream: true },
        { stream_options: { include_usage: 'x' }, stream: true },
      ],
    },
    request_id: {
      async effect() {
        const { json } = await server.ask({ ...greedy, request_id: 'mine' })
        assert.equal(json.id, 'chatcmpl-mine')
        assert.notEqual((await said(greedy)).id, (await said(greedy)).id)
      },
      bad: [{ request_id: '' }, { request_id: null }],
    },
    tools: {
      async effect() {
        const chat_template =
          '{% for tool in tools %}{{ tool.function.name }}:{{ tool.function.description }};{% endfor %}'
        const fields = { tools: [tool('knit'), tool('weave')], tool_choice: 'none' }
        assert.equal(await promptText({ chat_template, ...fields }), 'knit:knits;weave:weaves;')
      },
      bad: [{ tools: {} }, { tools: [{ type: 'x', function: { name: 'f' } }] }],
    },
    tool_choice: {
      async effect() {
        await sameAsWithout({ tool_choice: 'none' })
        for (const stream of [false, true]) {
          for (const tool_choice of ['required', 'any']) {
            const required = await calls({ tools: [tool('knit'), tool('weave')], tool_choice, stream })
            assert.ok(required.length > 0)
            for (const { name = '' } of required) assert.match(name, /^(knit|weave)$/)
          }
          const named = { type: 'function', function: { name: 'weave' } }
          const [only] = await calls({ tools: [tool('knit'), tool('weave')], tool_choice: named, stream })
          assert.equal(only?.name, 'weave')
        }
      },
      bad: [
        { tool_choice: 5 },
        { tool_choice: 'each', tools: [tool('knit')] },
        { tool_choice: 'auto' },
        { tool_choice: 'required' },
        { tool_choice: { type: 'function', function: { name: 'spin' } }, tools: [tool('knit')] },
      ],
    },
    parallel_tool_calls: {
      async effect() {
        const fields = { tools: [tool('knit')], tool_choice: 'required', parallel_tool_calls: false }
        assert.equal((await calls(fields)).length, 1)
      },
      bad: [{ parallel_tool_calls: 'x' }],
    },
    functions: {
      async effect() {
        const chat_template = '{% for tool in tools %}{{ tool.function.name }};{% endfor %}'
        const functions = [tool('knit').function, tool('weave').function]
        assert.equal(await promptText({ chat_template, functions, function_call: 'none' }), 'knit;weave;')
      },
      bad: [{ functions: 'knit' }, { functions: [tool('knit').function], tools: [tool('weave')] }],
    },
    function_call: {
      async effect() {
        const functions = [tool('knit').function, tool('weave').function]
        const { json } = await server.ask({ ...brief, functions, function_call: { name: 'weave' } })
        const [{ message, finish_reason }] = json.choices
        assert.deepEqual([message.function_call.name, finish_reason], ['weave', 'stop'])
        assert.ok(!('tool_calls' in message))
      },
      bad: [{ function_call: 'auto' }, { function_call: 'x', functions: [tool('knit').function] }],
    },
    thinking_token_budget: {
      async effect() {
        const chat_template = thinking
        for (const stream of [false, true]) {
          const { reasoning, usage } = await thoughtOf({ chat_template, thinking_token_budget: 3, stream })
          // The closing tag counts too, and neither it nor a character is cut in the middle.
          const most = 3 + 2 * (await server.tokenize('</think>')).length + 3
          assert.ok(usage.completion_tokens_details.reasoning_tokens <= most)
          assert.ok(!reasoning.includes('</think>'))
        }
      },
      bad: [{ thinking_token_budget: -1 }, { thinking_token_budget: 'x' }],
    },
    response_format: {
      effect: async () => {
        await sameAsWithout({ response_format: { type: 'text' } })
        const schema = { type: 'object', properties: { a: { enum: [7] } }, required: ['a'] }
        const closed = { ...schema, additionalProperties: false }
        const format = { type: 'json_schema', json_schema: { name: 'a', schema: closed } }
        // Enough for all the spaces that the grammar allows.
        const { content } = await one({ response_format: format, max_tokens: 400 })
        assert.deepEqual(JSON.parse(content), { a: 7 })
      },
      bad: [{ response_format: {} }, { response_format: 'text' }, { response_format: { type: 'poem' } }],
    },
    structured_outputs: {
      effect: async () => {
        await sameAsWithout({ structured_outputs: null })
        const outputs = { choice: ['this', 'that'] }
        assert.match((await one({ structured_outputs: outputs, max_tokens: 40 })).content, /^(this|that)$/)
      },
      bad: [{ structured_outputs: {} }, { structured_outputs: 5 }, { structured_outputs: { regex: 5 } }],
    },
    guided_json: takesNull('guided_json', { type: 'object' }),
    guided_json_object: takesNull('guided_json_object', true),
    guided_regex: takesNull('guided_regex', 'a+'),
    guided_choice: takesNull('guided_choice', ['a']),
    guided_grammar: takesNull('guided_grammar', 'root ::= "a"'),
    guided_whitespace_pattern: takesNull('guided_whitespace_pattern', ' '),
    guided_decoding_backend: takesNull('guided_decoding_backend', 'outlines'),
    modalities: noEffect(['text'], null)('modalities', [{ modalities: ['text', 'audio'] }]),
    audio: takesNull('audio', { voice: 'x', format: 'wav' }),
    web_search_options: takesNull('web_search_options', {}),
    moderation: takesNull('moderation', { model: 'omni-moderation-latest' }),
    user: noEffect('me', null)('user', [{ user: 5 }]),
    safety_identifier: noEffect('me', null)('safety_identifier', [{ safety_identifier: 5 }]),
    prompt_cache_key: noEffect('me', null)('prompt_cache_key', [{ prompt_cache_key: 5 }]),
    prompt_cache_options: noEffect({ mode: 'implicit' }, null)('prompt_cache_options', [
      { prompt_cache_options: 'x' },
    ]),
    prompt_cache_retention: noEffect('24h', null)('prompt_cache_retention', [{ prompt_cache_retention: 5 }]),
    prompt: {
      effect: async () => {
        const content = 'You know {what}.'
        const project_id = 'acme/default'
        const kept = await server.post('/obj/create', {
          obj: { project_id, object_id: 'knows', val: { content } },
        })
        assert.equal(kept.status, 200)
        const prompt = { id: 'knows', version: 'latest', variables: { what: 'maps' } }
        const [own, named] = [await promptText({}), await promptText({ prompt })]
        assert.ok(!own.includes('You know maps.') && named.includes('You know maps.'))
      },
      bad: [{ prompt: 5 }, { prompt: { id: 5 } }, { prompt: { id: 'knows', version: 'v0' } }],
    },
    store: noEffect(true, null)('store', [{ store: 'x' }]),
    metadata: noEffect({ a: 'b' }, null)('metadata', [{ metadata: 5 }]),
    service_tier: noEffect('flex', null)('service_tier', [{ service_tier: 5 }]),
    kv_transfer_params: noEffect({ a: [1] }, null)('kv_transfer_params', [{ kv_transfer_params: [] }]),
    ec_transfer_params: noEffect({ a: [1] }, null)('ec_transfer_params', [{ ec_transfer_params: [] }]),
    media_io_kwargs: noEffect({ a: 1 }, null)('media_io_kwargs', [{ media_io_kwargs: 5 }]),
    return_mm_kwargs: noEffect(true, null)('return_mm_kwargs', [{ return_mm_kwargs: 'x' }]),
    return_token_offsets: noEffect(true, null)('return_token_offsets', [{ return_token_offsets: 'x' }]),
    routed_experts_prompt_start: noEffect(1, null)('routed_experts_prompt_start', [
      { routed_experts_prompt_start: -1 },
    ]),
    watermarking: noEffect(false, null)('watermarking', [{ watermarking: true }, { watermarking: 'x' }]),
    mm_processor_kwargs: noEffect({ a: 1 }, null)('mm_processor_kwargs', [{ mm_processor_kwargs: 5 }]),
    engine_xargs: noEffect({ a: 1, b: ['x'] }, null)('engine_xargs', [{ engine_xargs: { a: { b: 1 } } }]),
    vllm_xargs: noEffect({ a: 1, b: ['x'] }, null)('vllm_xargs', [{ vllm_xargs: { a: true } }]),
  } satisfies Record<keyof ChatBody, Case>

  function takesNull(name: string, value: unknown): Case {
    return noEffect(null)(name, [{ [name]: value }])
  }

  function noEffect(...values: unknown[]) {
    return (name: string, bad: Fields[]): Case => ({
      async effect() {
        for (const value of values) await sameAsWithout({ [name]: value })
      },
      bad,
    })
  }

  for (const [name, { effect, bad }] of Object.entries(cases)) {
    test(`${name} does what the table says`, effect)

    test(`${name}: a bad value is refused with the name of the field`, async () => {
      for (const fields of bad) {
        for (const stream of 'stream' in fields ? [fields.stream] : [false, true]) {
          const { status, json, text } = await server.ask({ ...fields, stream })
          const said = `${JSON.stringify({ ...fields, stream })}: ${status} ${text}`
          assert.equal(status, 400, said)
          const { param, message } = json.error
          assert.ok(param === name || param.startsWith(`${name}.`), said)
          assert.ok(message.includes(name) || inOtherWords.has(json.error.code), said)
        }
      }
    })
  }

  test('every field of the contract and of the table in the docs has a case', async () => {
    const page = await readFile(new URL('../../docs/chat-parameters.md', import.meta.url), 'utf8')
    const [, unused = ''] = /^Checked, but without effect: (.+)$/m.exec(page) ?? []
    const rows = Array.from(page.matchAll(/^\| `(\w+)` \|/gm), ([, name]) => name)
    rows.push(...Array.from(unused.matchAll(/`(\w+)`/g), ([, name]) => name))
    const hidden = Object.entries(ChatBody.shape).filter(([, field]) => traits.get(field)?.isHidden)
    rows.push(...hidden.map(([name]) => name))
    assert.deepEqual(rows.toSorted(), Object.keys(cases).toSorted())
    assert.deepEqual(Object.keys(ChatBody.shape).toSorted(), Object.keys(cases).toSorted())
  })

  test('the field takes precedence over the request id in the header, which a proxy may have added', async () => {
    const answer = await fetch(`${server.address}${chatUrl}`, {
      method: 'POST',
      headers: {
        authorization: basic(keys.alice),
        'content-type': 'application/json',
        'x-request-id': 'theirs',
      },
      body: JSON.stringify(asking({ max_tokens: 1, request_id: 'mine' })),
    })
    assert.equal(((await answer.json()) as { id: string }).id, 'chatcmpl-mine')
  })
})

/** The id in the text form of a token. */
function idOf(token: string | undefined): number {
  const [, id] = /^token_id:(\d+)$/.exec(token ?? '') ?? []
  return Number(id)
}

/** The rank of a drawn token among the candidates. */
function placeOf(token: number, given: AnswerChoice['logprobs'][number] | undefined): number | undefined {
  return given?.top_logprobs.findIndex((candidate) => idOf(candidate.token) === token)
}

/** The parts that must be equal in two answers to the same request. */
function comparable({ choices, usage: { prompt_tokens, completion_tokens }, promptTokens }: AnswerContent) {
  return { choices, prompt_tokens, completion_tokens, promptTokens }
}
