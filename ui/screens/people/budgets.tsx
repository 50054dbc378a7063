import { useState } from 'preact/hooks'
import type { BudgetPeriod, BudgetScope } from '../../../src/domain/budgets.ts'
import { FormDialog, numberIn } from '../../parts/form-dialog.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { PeopleHead } from '../../parts/lists-head.tsx'
import { Time } from '../../parts/time.tsx'
import {
  type Budget,
  type BudgetChange,
  changeBudget,
  deleteBudget,
  makeBudget,
  readBudgets,
} from '../../server/budgets.ts'
import { useLoading } from '../../server/loading.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { may } from '../../server/rights.ts'

/** What answers may cost. Users see the budgets that count theirs; operators see and set all. */
export function BudgetsScreen() {
  const loaded = useLoading(readBudgets, [])
  const [open, setOpen] = useState<'new' | Budget>()
  const mayChange = may('operate')
  return (
    <main class="screen sheet quality">
      <PeopleHead title="Budgets">
        {mayChange && (
          <button type="button" class="main-button" onClick={() => setOpen('new')}>
            New budget
          </button>
        )}
      </PeopleHead>
      <ListTable
        label="Budgets"
        {...{ loaded }}
        keyOf={({ id }) => id}
        columns={columns}
        acts={(budget) =>
          mayChange
            ? [
                { name: 'Change', of: nameOf(budget), run: () => setOpen(budget) },
                {
                  name: 'Delete',
                  of: nameOf(budget),
                  ask: 'Its answers are no longer bounded, and what was spent is forgotten.',
                  run: () => existedUntilDeleted(deleteBudget(budget.id)),
                },
              ]
            : []
        }
        empty={mayChange ? 'No budgets yet' : 'No budget bounds your answers'}
      >
        <p>A budget bounds what answers cost in a day or a month. Prices are set in each project.</p>
      </ListTable>
      {open !== undefined && (
        <BudgetForm
          budget={open === 'new' ? undefined : open}
          onSaved={loaded.reload}
          onClose={() => setOpen(undefined)}
        />
      )}
    </main>
  )
}

const nameOf = ({ scope, subject }: Budget) => (subject === null ? 'the server' : `${scope} ${subject}`)
const percentText = (share: number) => String(Math.round(share * 1_000) / 10)

const columns = {
  Of: (budget: Budget) => <span class="strong">{nameOf(budget)}</span>,
  Spent: ({ spent, amount, currency, window }: Budget) => (
    <span class="in-line">
      <progress
        class="bar"
        aria-label={`${spent} of ${amount} ${currency}`}
        max={1}
        value={Number(spent) / Number(amount)}
      />
      {spent} of {amount} {currency} a {window}
    </span>
  ),
  Left: ({ left, currency }: Budget) => (
    <span class={Number(left) === 0 ? 'problem' : undefined}>{`${left} ${currency}`}</span>
  ),
  'Warns at': ({ warn_at }: Budget) =>
    warn_at === null ? <span class="muted">never</span> : `${percentText(warn_at)} %`,
  'Without a price': ({ block_unpriced }: Budget) => (block_unpriced ? 'refused' : 'free'),
  'Opens again': ({ opens_at }: Budget) => <Time at={opens_at} />,
}

const scopes: Record<BudgetScope, string> = {
  server: 'the server',
  entity: 'an entity',
  project: 'a project',
  user: 'a user',
  key: 'a key',
}
const windows: Record<BudgetPeriod, string> = { day: 'a day', month: 'a month' }

/** Whose budget it is does not change; what it is does. */
function BudgetForm(props: { budget: Budget | undefined; onSaved(): void; onClose(): void }) {
  const { budget } = props
  const isOld = budget !== undefined
  return (
    <FormDialog
      title={isOld ? `Budget of ${nameOf(budget)}` : 'New budget'}
      fields={({ scope }) => ({
        scope: { label: 'Of', choices: scopes, isHidden: isOld },
        subject: {
          label: scope === 'key' ? 'ID of the key' : 'Name',
          isHidden: isOld || scope === 'server',
        },
        window: { label: 'In', choices: windows, isHidden: isOld },
        currency: { label: 'Currency', isHidden: isOld },
        amount: { label: 'May be spent', example: '12.50' },
        warn: { label: 'Warn from this percentage on', example: 'never', mayBeEmpty: true },
        unpriced: { label: 'Models without a price', choices: { free: 'are free', block: 'are refused' } },
        prices_of: {
          label: 'Prices of this project',
          example: 'of the project of each answer',
          mayBeEmpty: true,
        },
      })}
      first={{
        ...{ scope: 'project', subject: '', window: 'month', currency: 'USD' },
        amount: budget?.amount ?? '',
        warn: budget === undefined ? '80' : budget.warn_at === null ? '' : percentText(budget.warn_at),
        unpriced: budget?.block_unpriced ? 'block' : 'free',
        prices_of: budget?.prices_of ?? '',
      }}
      submit={isOld ? 'Save budget' : 'Set budget'}
      onSubmit={async ({ amount, warn, unpriced, prices_of, scope, subject, ...fixed }) => {
        const change: BudgetChange = {
          amount: amount.trim(),
          warn_at: warn.trim() === '' ? null : numberIn(warn, 'Warn from') / 100,
          block_unpriced: unpriced === 'block',
          prices_of: prices_of.trim() || null,
        }
        await (isOld
          ? changeBudget(budget.id, change)
          : makeBudget({
              ...change,
              scope: scope as BudgetScope,
              subject: scope === 'server' ? null : subject.trim(),
              window: fixed.window as BudgetPeriod,
              currency: fixed.currency.trim(),
            }))
        props.onSaved()
      }}
      onClose={props.onClose}
    />
  )
}
