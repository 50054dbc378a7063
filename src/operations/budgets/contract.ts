import { z } from 'zod'
import { budgetPeriods, budgetScopes } from '../../domain/budgets.ts'
import { answer, explained, plainText, projectId } from '../../domain/fields.ts'
import { amountOf, maxAmount } from '../../domain/money.ts'

const amount = z
  .string()
  .refine((text) => amountOf(text) !== undefined, `expected an amount such as "12.50", at most ${maxAmount}`)

const share = z.number().min(0.01).max(1).nullish()

const changeable = explained({
  amount: [amount, 'What may be spent in each window, as a decimal text with at most nine places.'],
  warn_at: [
    share.meta({ default: 0.8 }),
    'From this share on, answers have the header x-heddle-budget. Null: never.',
  ],
  block_unpriced: [
    z.boolean().nullish().meta({ default: false }),
    'Refuses models without a price in the currency; otherwise they count as free.',
  ],
  prices_of: [
    projectId.nullish(),
    'The project whose prices count. Null: the project of the answer, whose members can set them.',
  ],
})

export const CreateBudgetBody = z.strictObject({
  ...explained({
    scope: [z.enum(budgetScopes), 'Whose answers count.'],
    subject: [
      plainText(256).min(1).nullish(),
      'The entity, the project, the user, or the id of the key; absent for the server.',
    ],
    window: [z.enum(budgetPeriods), 'In UTC.'],
    currency: [
      z
        .string()
        .regex(/^[A-Za-z]{3,16}$/, 'expected a currency such as USD')
        .nullish()
        .meta({ default: 'USD' }),
      'Only prices in this unit count.',
    ],
  }),
  ...changeable,
})
export type CreateBudgetBody = z.output<typeof CreateBudgetBody>

export const ChangeBudgetBody = z.strictObject({ ...changeable, amount: amount.optional() })
export type ChangeBudgetBody = z.output<typeof ChangeBudgetBody>

export const BudgetPath = z.object({ id: z.string().min(1).max(64) })

const Budget = z.object({
  id: z.string(),
  scope: z.enum(budgetScopes),
  subject: z.string().nullable(),
  window: z.enum(budgetPeriods),
  currency: z.string(),
  amount: z.string(),
  warn_at: z.number().nullable(),
  block_unpriced: z.boolean(),
  prices_of: z.string().nullable(),
  created_at: z.string(),
  created_by: z.string(),
  ...explained({
    spent: [z.string(), 'In the window of now.'],
    reserved: [z.string(), 'What running answers may still cost.'],
    left: [z.string(), 'What the next answer may cost at most.'],
    opens_at: [z.string(), 'When the next window begins, and all of the amount is left again.'],
  }),
})

export const BudgetAnswer = answer('The budget, and what is spent of it.', { budget: Budget })
export const BudgetsAnswer = answer('The budgets, and what is spent of each.', { budgets: z.array(Budget) })
export const DeletedAnswer = answer('It is deleted, with what was spent of it.', {})
