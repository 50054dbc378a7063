/** The answers that are running now, and the speed of the models, for monitoring. */
export interface RunningAnswers {
  begin(answer: Pick<RunningAnswer, 'model' | 'user' | 'isBackground'>): RunningAnswer
  /** A prompt was computed, or partly found in a cache. */
  read(answer: RunningAnswer, tokens: { prompt: number; cached: number }): void
  wrote(answer: RunningAnswer, tokens: number): void
  end(answer: RunningAnswer): void
  /** Oldest first. */
  all(): RunningAnswer[]
  /** What has gone through a model since the start: of one user, or of all. */
  of(model: string, user?: string): ModelTraffic
}

export interface RunningAnswer {
  model: string
  user: string
  isBackground: boolean
  /** Milliseconds since 1970. */
  startedAt: number
  /** `waiting` until its prompt has been computed. */
  state: 'waiting' | 'writing'
  tokens: number
}

interface ModelTraffic {
  promptTokens: number
  /** The part of the prompt tokens that was reused. */
  cachedTokens: number
  completionTokens: number
  /** Of answers, over the last ten seconds. */
  tokensPerSecond: number
}

/** The current second is left out, because it is not over. */
const seconds = 10

interface Traffic extends Omit<ModelTraffic, 'tokensPerSecond'> {
  /** Tokens of each second, indexed by the second modulo their number. */
  bySecond: { second: number; tokens: number }[]
}

export function createRunningAnswers(clock: () => number = Date.now): RunningAnswers {
  const answers = new Set<RunningAnswer>()
  const ofAll = new Map<string, Traffic>()
  const ofUsers = new Map<string, Traffic>()
  const nowInSeconds = () => Math.floor(clock() / 1000)

  function trafficIn(traffic: Map<string, Traffic>, key: string): Traffic {
    let found = traffic.get(key)
    if (found === undefined) {
      const bySecond = Array.from({ length: seconds + 1 }, () => ({ second: 0, tokens: 0 }))
      found = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, bySecond }
      traffic.set(key, found)
    }
    return found
  }

  const keyOf = (model: string, user: string) => JSON.stringify([model, user])
  const trafficsOf = ({ model, user }: RunningAnswer) => [
    trafficIn(ofAll, model),
    trafficIn(ofUsers, keyOf(model, user)),
  ]

  return {
    begin(fields) {
      const answer: RunningAnswer = { ...fields, startedAt: clock(), state: 'waiting', tokens: 0 }
      answers.add(answer)
      return answer
    },
    read(answer, { prompt, cached }) {
      answer.state = 'writing'
      for (const traffic of trafficsOf(answer)) {
        traffic.promptTokens += prompt
        traffic.cachedTokens += cached
      }
    },
    wrote(answer, tokens) {
      answer.tokens += tokens
      const second = nowInSeconds()
      for (const traffic of trafficsOf(answer)) {
        traffic.completionTokens += tokens
        const slot = traffic.bySecond[second % traffic.bySecond.length] as Traffic['bySecond'][number]
        if (slot.second !== second) {
          slot.second = second
          slot.tokens = 0
        }
        slot.tokens += tokens
      }
    },
    end: (answer) => void answers.delete(answer),
    all: () => [...answers],
    of(model, user) {
      const traffic = user === undefined ? ofAll.get(model) : ofUsers.get(keyOf(model, user))
      if (traffic === undefined)
        return { promptTokens: 0, cachedTokens: 0, completionTokens: 0, tokensPerSecond: 0 }
      const { bySecond, ...sums } = traffic
      const second = nowInSeconds()
      let recent = 0
      for (const { second: at, tokens } of bySecond) {
        if (at < second && at >= second - seconds) recent += tokens
      }
      return { ...sums, tokensPerSecond: recent / seconds }
    },
  }
}
