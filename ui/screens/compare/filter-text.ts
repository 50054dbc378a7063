/** One condition of the filter: rows match that have a trial for which it holds, of a given evaluation or of any. */
export interface Term {
  field: string
  by: '>=' | '<=' | '!=' | '=' | '<' | '>' | '~'
  value: string
  evaluation?: string | undefined
}

const quoted = '"(?:[^"\\\\]|\\\\.)*"'
const termPattern = new RegExp(
  `(${quoted}|[^\\s"=<>!~@]+)(>=|<=|!=|=|<|>|~)(${quoted}|[^\\s"@]+)(?:@([\\w-]+))?(?=\\s|$)`,
  'y',
)

/** Parses `scores.judge>=0.5 inputs.question~"capital of"@<evaluation>`; returns what it cannot parse as `wrong`. */
export function parseFilter(text: string): { terms: Term[]; wrong: string | undefined } {
  const terms: Term[] = []
  let at = 0
  while (at < text.length) {
    if (/\s/.test(text[at] as string)) {
      at++
      continue
    }
    termPattern.lastIndex = at
    const found = termPattern.exec(text)
    const [, field = '', by, value = '', evaluation] = found ?? []
    const name = unquoted(field)
    if (found === null || by === undefined || !/^(scores|inputs|outputs|output)\.|^row_digest$/.test(name))
      return { terms, wrong: text.slice(at) }
    terms.push({ field: name, by: by as Term['by'], value: unquoted(value), evaluation })
    at = termPattern.lastIndex
  }
  return { terms, wrong: undefined }
}

export const filterText = (terms: readonly Term[]): string =>
  terms
    .map(({ field, by, value, evaluation }) => {
      const of = evaluation === undefined ? '' : `@${evaluation}`
      return `${/^[^\s"=<>!~@]+$/.test(field) ? field : quote(field)}${by}${/^[^\s"@=][^\s"@]*$/.test(value) ? value : quote(value)}${of}`
    })
    .join(' ')

const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`

const unquoted = (text: string) =>
  text.startsWith('"') ? text.slice(1, -1).replace(/\\(["\\])/g, '$1') : text

interface RowFilter {
  query: object
  evaluation_call_id?: string
}

/** Conditions on one evaluation hold together for one trial; so do those that name none. */
export function filtersOf(terms: readonly Term[]): RowFilter[] {
  return [...Map.groupBy(terms, ({ evaluation }) => evaluation)].map(([evaluation, own]) => ({
    query: { $expr: { $and: own.map(conditionOf) } },
    ...(evaluation !== undefined && { evaluation_call_id: evaluation }),
  }))
}

const operators = { '>=': '$gte', '<=': '$lte', '<': '$lt', '>': '$gt', '=': '$eq', '!=': '$eq' } as const

function conditionOf({ field, by, value }: Term): object {
  const input = { $getField: field }
  if (by === '~') return { $contains: { input, substr: { $literal: value }, case_insensitive: true } }
  const condition = { [operators[by]]: [input, { $literal: literalOf(value) }] }
  return by === '!=' ? { $not: [condition] } : condition
}

function literalOf(value: string): unknown {
  if (value === 'true' || value === 'false') return value === 'true'
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value) ? Number(value) : value
}
