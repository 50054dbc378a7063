import { JsonText } from '../../domain/json/text.ts'
import { createYieldToLoop } from '../../domain/yielding.ts'
import type { FinishReason, GenerationEvent } from '../../inference/backend.ts'
import { candidatesOfToken, checkCandidates } from '../chat/candidates.ts'
import { promptLogprobsWritten } from '../chat/logprobs.ts'
import { usageOf } from '../chat/usage.ts'
import type { Completion, PromptRun } from './completion.ts'
import { judgedAnswer, judgedPrompt } from './legacy-logprobs.ts'
import { merged } from './merged.ts'
import { inSteps, type WrittenLogprobs, writeLogprobs } from './written-logprobs.ts'

interface Choice {
  text: string
  tokens: number[]
  logprobs: WrittenLogprobs
  reason: FinishReason
  stop: string | number | null
}

interface Gathered {
  choices: Choice[]
  cachedTokens: number
  promptLogprobs?: JsonText
}

/** The whole answer at once, when the last choice of the last prompt has ended. */
export async function answerOf(completion: Completion): Promise<object> {
  const { head, prompts, wants } = completion
  const gathered = await gather(completion)
  const choices = prompts.flatMap((prompt, index) =>
    shownChoices(completion, prompt, gathered[index] as Gathered, index * completion.choices),
  )
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)
  const answered = gathered.flatMap((one) => one.choices.map(({ tokens }) => tokens.length))
  return {
    ...head,
    choices,
    usage: usageOf(
      sum(prompts.map(({ promptTokens }) => promptTokens.length)),
      wants.onlyPrompt ? 0 : sum(answered),
      sum(gathered.map(({ cachedTokens }) => cachedTokens)),
    ),
  }
}

async function gather({ prompts, choices, wants, giveUp }: Completion): Promise<Gathered[]> {
  const style = { count: wants.logprobs ?? 0, asIds: wants.tokensAsIds }
  const gathered = prompts.map((): Gathered => {
    return {
      choices: Array.from({ length: choices }, () => {
        return { text: '', tokens: [], logprobs: writeLogprobs(style), reason: 'stop', stop: null }
      }),
      cachedTokens: 0,
    }
  })
  const yieldToLoop = createYieldToLoop()
  let candidates = 0
  const events = merged(
    prompts.map((prompt) => prompt.events),
    giveUp,
  )
  for await (const { from, value: group } of events) {
    for (const event of group) await take(event, from)
  }
  return gathered

  async function take(event: GenerationEvent, from: number): Promise<void> {
    const one = gathered[from] as Gathered
    if (event.kind === 'prefilled') return takePrompt(one, prompts[from] as PromptRun, event)
    const choice = one.choices[event.choice] as Choice
    if (event.kind === 'finished') {
      choice.reason = event.reason
      choice.stop = event.stop
      return
    }
    choice.text += event.text
    for (const token of event.tokens) choice.tokens.push(token)
    if (wants.onlyPrompt) return
    const { logprobs = [] } = event
    candidates += logprobs.length * candidatesOfToken(wants.logprobs)
    checkCandidates('logprobs', candidates)
    await inSteps(logprobs.length, yieldToLoop, (start, end) =>
      choice.logprobs.add(judgedAnswer(logprobs.slice(start, end))),
    )
  }

  async function takePrompt(
    one: Gathered,
    { promptTokens, firstToken }: PromptRun,
    { cachedTokens, promptLogprobs }: Extract<GenerationEvent, { kind: 'prefilled' }>,
  ): Promise<void> {
    one.cachedTokens = cachedTokens
    if (promptLogprobs === undefined) return
    if (wants.promptLogprobs) one.promptLogprobs = await promptLogprobsWritten(promptLogprobs, style.asIds)
    if (!wants.echoLogprobs) return
    const echoed = writeLogprobs(style)
    await inSteps(promptTokens.length, yieldToLoop, (start, end) =>
      echoed.add(judgedPrompt(promptTokens.slice(start, end), promptLogprobs.slice(start, end), firstToken)),
    )
    for (const choice of one.choices) choice.logprobs = echoed.copy()
  }
}

function shownChoices(
  { wants }: Completion,
  { echo, promptTokens }: PromptRun,
  { choices, promptLogprobs }: Gathered,
  firstIndex: number,
) {
  const { onlyPrompt } = wants
  return choices.map(({ text, tokens, logprobs, reason, stop }, index) => ({
    index: firstIndex + index,
    text: onlyPrompt ? echo : echo + text,
    logprobs: wants.logprobs === undefined ? null : logprobs.text(),
    finish_reason: onlyPrompt ? 'length' : reason,
    stop_reason: onlyPrompt ? null : stop,
    ...(wants.tokenIds && {
      prompt_token_ids: new JsonText(JSON.stringify(promptTokens)),
      token_ids: onlyPrompt ? [] : new JsonText(JSON.stringify(tokens)),
    }),
    ...(wants.promptLogprobs && promptLogprobs && { prompt_logprobs: promptLogprobs }),
  }))
}
