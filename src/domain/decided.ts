/** The op of decisions that the server has answered itself. */
export const decisionOp = 'heddle.decisions'

/** An answer of a typed decision, whichever API was asked. */
export interface Decided {
  /** Its name, or its id. */
  question: string | null
  /** Labels and their probabilities: of a predicate `true` and `false`. */
  shares: readonly (readonly [label: string, probability: number])[]
  isPredicate: boolean
}

/** Which answers a rule picks. With a bound, the probability of `answer` counts, or else what `probabilityOf` says. */
export interface DecisionBounds {
  /** Null means any. */
  question: string | null
  answer: string | null
  /** At most one of the two is a number. */
  below: number | null
  above: number | null
}

/** The answers in the output of a decision. Whatever else a client has recorded under this op has none. */
export function decidedIn(output: string): Decided[] {
  const answers = membersIn(JSON.parse(output)).answers
  if (Array.isArray(answers)) {
    return answers.map(membersIn).flatMap((answer) => {
      const question = typeof answer.name === 'string' ? answer.name : null
      if (answer.type === 'predicate') return ofPredicate(question, answer.probability)
      return ofShares(question, listedShares(answer.probabilities))
    })
  }
  return Object.entries(membersIn(answers)).flatMap(([question, value]) => {
    const answer = membersIn(value)
    if (answer.type === 'noul') return ofPredicate(question, answer.noul)
    const names = membersIn(answer.legend)
    const shares = Object.entries(membersIn(answer.probabilities))
    return ofShares(
      question,
      shares.map(([name, probability]) => [textOf(names[name] ?? name), probability]),
    )
  })
}

const listedShares = (list: unknown) =>
  (Array.isArray(list) ? list.map(membersIn) : []).map(
    ({ value, label, probability }) => [textOf(label ?? value), probability] as const,
  )

const textOf = (label: unknown) => (typeof label === 'string' ? label : JSON.stringify(label ?? null))

const membersIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const isProbability = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= 1

function ofPredicate(question: string | null, probability: unknown): Decided[] {
  if (!isProbability(probability)) return []
  const shares = [['true', probability] as const, ['false', 1 - probability] as const]
  return [{ question, shares, isPredicate: true }]
}

function ofShares(question: string | null, shares: readonly (readonly [string, unknown])[]): Decided[] {
  const known = shares.flatMap(([label, share]) => (isProbability(share) ? [[label, share] as const] : []))
  return known.length === 0 || known.length < shares.length
    ? []
    : [{ question, shares: known, isPredicate: false }]
}

/** The answer with the largest probability; of equal ones, the first. */
function likeliestOf({ shares }: Decided): readonly [label: string, probability: number] {
  return shares.reduce((best, share) => (share[1] > best[1] ? share : best))
}

/** The answer that the bounds pick, with its probability; undefined if they pick none. */
export function pickedAnswer(
  bounds: DecisionBounds,
  decided: Decided,
): readonly [label: string, probability: number] | undefined {
  const { question, answer, below, above } = bounds
  if (question !== null && question !== decided.question) return undefined
  const likeliest = likeliestOf(decided)
  if (below === null && above === null) return likeliest[0] === answer ? likeliest : undefined
  const asked = answer ?? (decided.isPredicate ? 'true' : likeliest[0])
  const share = decided.shares.find(([label]) => label === asked)
  if (share === undefined) return undefined
  return (below !== null ? share[1] < below : share[1] > (above as number)) ? share : undefined
}
