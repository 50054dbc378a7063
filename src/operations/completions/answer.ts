import type { FinishReason, GenerationEvent, TokenLogprob } from '../../inference/backend.ts'
import { promptLogprobsShown } from '../chat/logprobs.ts'
import { usageOf } from '../chat/usage.ts'
import type { Completion, PromptRun } from './completion.ts'
import type { CompletionAnswer } from './contract.ts'
import { judgedAnswer, judgedPrompt, legacyLogprobs } from './legacy-logprobs.ts'
import { merged } from './merged.ts'

interface Choice {
  text: string
  tokens: number[]
  logprobs: TokenLogprob[]
  reason: FinishReason
  stop: string | number | null
}

interface Gathered {
  choices: Choice[]
  prefilled?: Extract<GenerationEvent, { kind: 'prefilled' }>
}

/** The whole answer at once, when the last choice of the last prompt has ended. */
export async function answerOf(completion: Completion): Promise<CompletionAnswer> {
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
      sum(gathered.map(({ prefilled }) => prefilled?.cachedTokens ?? 0)),
    ),
  }
}

async function gather({ prompts, choices, giveUp }: Completion): Promise<Gathered[]> {
  const gathered = prompts.map((): Gathered => {
    return {
      choices: Array.from({ length: choices }, () => {
        return { text: '', tokens: [], logprobs: [], reason: 'stop', stop: null }
      }),
    }
  })
  const events = merged(
    prompts.map((prompt) => prompt.events),
    giveUp,
  )
  for await (const { from, value: group } of events) {
    for (const event of group) take(event, gathered[from] as Gathered)
  }
  return gathered
}

function take(event: GenerationEvent, one: Gathered): void {
  if (event.kind === 'prefilled') {
    one.prefilled = event
    return
  }
  const choice = one.choices[event.choice] as Choice
  if (event.kind === 'finished') {
    choice.reason = event.reason
    choice.stop = event.stop
    return
  }
  choice.text += event.text
  for (const token of event.tokens) choice.tokens.push(token)
  for (const judged of event.logprobs ?? []) choice.logprobs.push(judged)
}

function shownChoices(
  { wants }: Completion,
  { echo, promptTokens, firstToken }: PromptRun,
  { choices, prefilled }: Gathered,
  firstIndex: number,
): CompletionAnswer['choices'] {
  const { onlyPrompt, tokensAsIds: asIds } = wants
  const ofPrompt = prefilled?.promptLogprobs
  return choices.map((choice, index) => {
    const judged = [
      ...(wants.echoLogprobs && ofPrompt ? judgedPrompt(promptTokens, ofPrompt, firstToken) : []),
      ...(onlyPrompt ? [] : judgedAnswer(choice.logprobs)),
    ]
    return {
      index: firstIndex + index,
      text: onlyPrompt ? echo : echo + choice.text,
      logprobs:
        wants.logprobs === undefined
          ? null
          : legacyLogprobs(judged, { count: wants.logprobs, asIds }, { characters: 0 }),
      finish_reason: onlyPrompt ? 'length' : choice.reason,
      stop_reason: onlyPrompt ? null : choice.stop,
      ...(wants.tokenIds && {
        prompt_token_ids: promptTokens,
        token_ids: onlyPrompt ? [] : choice.tokens,
      }),
      ...(wants.promptLogprobs && ofPrompt && { prompt_logprobs: promptLogprobsShown(ofPrompt, asIds) }),
    }
  })
}
