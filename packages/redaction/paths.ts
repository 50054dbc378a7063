/** What becomes of the value at a path of JSON. */
export interface PathRule {
  /** Names and indexes with dots between them; `*` stands for any of them, `**` for any number of them. */
  path: string
  action: 'drop' | 'hash'
}

interface Step {
  rule: PathRule
  segments: readonly string[]
  /** The segment that comes next. */
  next: number
}

/** What may still match below a value. */
export type Steps = readonly Step[]

export const noSteps: Steps = []

/** Steps of rules before their first segment. */
export function stepsOf(rules: readonly PathRule[]): Steps {
  return rules.map((rule) => ({ rule, segments: rule.path.split('.'), next: 0 }))
}

/** The steps below a member or an item. */
export function below(steps: Steps, name: string): Steps {
  if (steps.length === 0) return noSteps
  const found: Step[] = []
  const add = (step: Step) => {
    if (!found.some(({ rule, next }) => rule === step.rule && next === step.next)) found.push(step)
  }
  for (const step of steps) {
    const { segments, next } = step
    for (let at = next; at < segments.length; at++) {
      const segment = segments[at]
      if (segment === '**') add({ ...step, next: at })
      else {
        if (segment === name || segment === '*') add({ ...step, next: at + 1 })
        break
      }
    }
  }
  return found
}

/** The rule whose path ends here. A value is dropped if any rule says so. */
export function ruleAt(steps: Steps): PathRule | undefined {
  const ended = steps.filter(({ segments, next }) => next === segments.length).map(({ rule }) => rule)
  return ended.find(({ action }) => action === 'drop') ?? ended[0]
}
