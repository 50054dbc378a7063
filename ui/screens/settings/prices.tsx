import { useState } from 'preact/hooks'
import { unpricedText } from '../../parts/cost.tsx'
import { FormDialog, numberIn } from '../../parts/form-dialog.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { SettingsHead } from '../../parts/lists-head.tsx'
import { Time } from '../../parts/time.tsx'
import { search, setSearch } from '../../router.ts'
import { type Price, readPrices, removePrice, setPrice } from '../../server/budgets.ts'
import { useLoading } from '../../server/loading.ts'
import { may } from '../../server/rights.ts'

/** Prices are stored for one token and shown for so many. */
const tokensPriced = 1_000_000

/** What the models of a project cost. The newest price of a model counts from its time on. */
export function PricesScreen({ project }: { project: string }) {
  const loaded = useLoading((signal) => readPrices(project, signal), [project])
  // A call without a price names the model that it used.
  const unpriced = search.value.get('model') ?? ''
  const mayChange = may('write', project)
  const [isOpen, setOpen] = useState(mayChange && unpriced !== '')
  return (
    <main class="screen sheet quality">
      <SettingsHead {...{ project }} title="Prices">
        {mayChange && (
          <button type="button" class="main-button" onClick={() => setOpen(true)}>
            Set price
          </button>
        )}
      </SettingsHead>
      {!mayChange && (
        <p class="muted">
          {unpriced !== '' && `${unpricedText([unpriced])} `}Whoever may write in {project} sets prices here.
        </p>
      )}
      <ListTable
        label="Prices"
        {...{ loaded }}
        keyOf={({ id }) => id}
        columns={columns}
        acts={({ id, llm_id: of }) =>
          mayChange
            ? [
                {
                  name: 'Remove',
                  of,
                  ask: 'Costs of calls are computed without this price from now on.',
                  run: () => removePrice(project, id),
                },
              ]
            : []
        }
        empty="No prices yet"
      >
        <p>With the price of a model, its calls have a cost, which charts show and budgets bound.</p>
      </ListTable>
      {isOpen && (
        <FormDialog
          title="Price of a model"
          fields={() => ({
            model: { label: 'Model' },
            prompt: { label: 'A million tokens of prompts', example: '2.50' },
            completion: { label: 'A million tokens of answers', example: '10' },
            unit: { label: 'Currency' },
          })}
          first={{ model: unpriced, prompt: '', completion: '', unit: 'USD' }}
          submit="Set price"
          onSubmit={async ({ model, prompt, completion, unit }) => {
            await setPrice(project, model.trim(), {
              prompt_token_cost: numberIn(prompt, 'Prompts') / tokensPriced,
              completion_token_cost: numberIn(completion, 'Answers') / tokensPriced,
              prompt_token_cost_unit: unit.trim(),
              completion_token_cost_unit: unit.trim(),
            })
            loaded.reload()
          }}
          onClose={() => {
            setOpen(false)
            setSearch({ model: undefined })
          }}
        />
      )}
    </main>
  )
}

/** Without the digits that a division has added. */
const priceText = (cost: number, unit: string) =>
  `${(cost * tokensPriced).toLocaleString('en', { maximumSignificantDigits: 12 })} ${unit} a million tokens`

const columns = {
  Model: ({ llm_id }: Price) => <span class="strong">{llm_id}</span>,
  Prompts: ({ prompt_token_cost, prompt_token_cost_unit: unit }: Price) => priceText(prompt_token_cost, unit),
  Answers: ({ completion_token_cost, prompt_token_cost_unit: unit }: Price) =>
    priceText(completion_token_cost, unit),
  From: ({ effective_date }: Price) => <Time at={effective_date} />,
  By: ({ created_by }: Price) => created_by,
}
