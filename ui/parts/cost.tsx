import { live } from '../export/contents.ts'
import { route } from '../router.ts'
import { paths } from '../routes.ts'
import { costText, tokensText } from '../value/units.ts'

interface Props {
  cost: number | null | undefined
  /** Without tokens nothing is priced. */
  tokens: number
  /** The models that used them, as far as they are known. */
  models?: readonly string[]
  /** In a list with keys of its own, links are no stops of Tab. */
  tabIndex?: -1
}

/** A cost; where tokens have none, that no price is set, with a link to where it is. */
export function Cost({ cost, tokens, models = [], tabIndex }: Props) {
  if (cost != null) return <>{costText(cost)}</>
  if (tokens === 0) return null
  const here = route.value
  const href =
    'project' in here && live(paths.prices(here.project, models.length === 1 ? models[0] : undefined))
  const title = unpricedText(models)
  // Most rows of a server with models of its own have none: a word in each would be noise.
  if (!href)
    return (
      <span class="muted" title={title}>
        –
      </span>
    )
  return (
    <a class="muted" aria-label="no price" href={href} {...{ title, tabIndex }}>
      –
    </a>
  )
}

export const unpricedText = (models: readonly string[]): string =>
  models.length === 0 ? 'No price is set for its models.' : `No price is set for ${models.join(', ')}.`

export const Tokens = (tokens: { input: number; output: number }) => (
  <span title="Read → written">{tokensText(tokens)} tokens</span>
)
