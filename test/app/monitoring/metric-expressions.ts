/** A metric with its matchers, as an expression of Prometheus names it. */
export interface Selector {
  metric: string
  matchers: { label: string; operator: string; value: string }[]
}

export interface Named {
  selectors: Selector[]
  /** Labels by which sums are grouped. */
  grouped: string[]
}

const keywords = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan'])
const groupings = /\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g
const token = /([a-zA-Z_:][\w:]*)\s*(\{(?:"(?:[^"\\]|\\.)*"|[^}"])*\}|\()?/g

/** What an expression names. It is read as far as names go: whether Prometheus accepts it is not checked. */
export function namedIn(expression: string): Named {
  const grouped: string[] = []
  const ungrouped = expression
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(groupings, (_whole, _word, labels: string) => {
      grouped.push(...labels.split(',').flatMap((label) => label.trim() || []))
      return ' '
    })
  const selectors: Selector[] = []
  for (const [, name = '', rest] of ungrouped.matchAll(token)) {
    const isFunction = rest === '(' || isAggregation(ungrouped, name)
    if (isFunction || keywords.has(name.toLowerCase())) continue
    const matchers = Array.from(
      (rest ?? '').matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g),
      ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
    )
    selectors.push({ metric: name, matchers })
  }
  return { selectors, grouped }
}

/** `sum by (le) (…)`: the grouping between the name and its parenthesis has been taken out. */
const isAggregation = (text: string, name: string) => new RegExp(`\\b${name}\\s+\\(`).test(text)

export interface Sample {
  metric: string
  labels: Record<string, string>
}

/** What a server has: names with their labels, and the samples of one answer. */
export interface Exposed {
  labels: ReadonlyMap<string, readonly string[]>
  samples: readonly Sample[]
}

/** Labels that Prometheus adds to what it reads, and the one metric of its own. */
const scraped = ['job', 'instance']

/** The names in an expression, and in the text beside it, that the server does not have. */
export function unknownIn(expression: string, text: string, { labels, samples }: Exposed): string[] {
  const { selectors, grouped } = namedIn(expression)
  const unknown: string[] = []
  const known = new Set(scraped)
  for (const { metric, matchers } of selectors) {
    const own = metric === 'up' ? [] : labels.get(metric)
    if (own === undefined) unknown.push(metric)
    for (const label of own ?? []) known.add(label)
    for (const { label, operator, value } of matchers) {
      if (scraped.includes(label)) continue
      if (!own?.includes(label)) unknown.push(`${metric}{${label}}`)
      else if (
        !samples.some((sample) => sample.metric === metric && isMatch(sample.labels[label], operator, value))
      )
        unknown.push(`${metric}{${label}="${value}"}`)
    }
  }
  const shown = Array.from(text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g), ([, label = '']) => label)
  const left = grouped.length > 0 ? new Set(grouped) : known
  unknown.push(...grouped.filter((label) => !known.has(label)).map((label) => `by (${label})`))
  unknown.push(...shown.filter((label) => !left.has(label)).map((label) => `{{${label}}}`))
  return unknown
}

/** Also for `!=` and `!~`: what is left out has to exist, or the condition says nothing. */
function isMatch(value: string | undefined, operator: string, pattern: string): boolean {
  if (value === undefined) return false
  return operator.endsWith('~') ? new RegExp(`^(?:${pattern})$`).test(value) : value === pattern
}
