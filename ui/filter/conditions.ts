import { type Filter, filterOf, writeFilter } from '../../packages/filter/index.ts'

interface Conditions {
  query?: unknown
  filter?: unknown
  models?: readonly string[] | null
  statuses?: readonly string[] | null
}

interface Wording {
  /** Empty for every call. */
  text: string
  /** It is a text of the filter bar, not JSON. */
  isFilter: boolean
}

/** For which calls a monitor or an alert is, as a text of the filter bar; as JSON where that cannot express it. */
export function wordingOf({ query, filter, models, statuses }: Conditions): Wording {
  const { op_names: ops, ...others } = setMembers(filter)
  const expression = setMembers(query).$expr
  const asked = expression === undefined ? [] : filterOf(expression)
  if (asked === undefined || Object.keys(others).length > 0) {
    const stored = setMembers({ filter, query, models, statuses })
    return { text: JSON.stringify(stored), isFilter: false }
  }
  const parts = [
    ...anyOf(['op'], ops as readonly string[] | undefined),
    // The model that was asked, or that answered: `model` alone is the latter.
    ...anyOf(['inputs.model', 'output.model'], models),
    ...anyOf(['status'], statuses, false),
    ...('kind' in asked ? (asked.kind === 'all' ? asked.of : [asked]) : asked),
  ]
  return { text: writeFilter({ kind: 'all', of: parts }), isFilter: true }
}

const setMembers = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => member != null && member !== false))

function anyOf(
  fields: readonly string[],
  values: readonly string[] | null | undefined,
  isExact = true,
): Filter[] {
  const of = (values ?? []).flatMap((value) =>
    fields.map(
      (field): Filter => ({
        kind: 'field',
        field,
        sign: isExact ? '=' : '',
        value,
        isQuoted: field.includes('.'),
      }),
    ),
  )
  const [first, ...others] = of
  return first === undefined ? [] : others.length === 0 ? [first] : [{ kind: 'any', of }]
}
