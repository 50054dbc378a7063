import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { FormFooter } from './form-footer.tsx'
import { Select } from './select.tsx'
import { ownSubmit, useWork } from './work.ts'

interface Field {
  label: string
  /** Values and their texts. */
  choices?: Readonly<Record<string, string>>
  /** Several of the choices: the value is their list, with commas. */
  isMany?: boolean
  example?: string
  mayBeEmpty?: boolean
  /** Does not belong to what was chosen above. */
  isHidden?: boolean
}

interface Props<Name extends string> {
  title: string
  /** The fields, in view of what the others have. */
  fields(values: Readonly<Record<Name, string>>): Record<Name, Field>
  first: Readonly<Record<Name, string>>
  /** Label of the submit button. */
  submit: string
  onSubmit(values: Record<Name, string>): Promise<void>
  onClose(): void
  /** Below the fields. */
  children?: (values: Readonly<Record<Name, string>>) => ComponentChildren
}

/** A form of texts and choices in a dialog. It closes once the server has accepted it, and shows the refusal otherwise. */
export function FormDialog<Name extends string>(props: Props<Name>) {
  const { title, fields, first, submit, onSubmit, onClose, children } = props
  const [values, setValues] = useState(first)
  const { isWorking, failure, work } = useWork()
  const shown = (Object.entries(fields(values)) as [Name, Field][]).filter(([, { isHidden }]) => !isHidden)
  const isFilled = shown.every(([name, { mayBeEmpty }]) => mayBeEmpty || values[name].trim() !== '')
  const change = (name: Name, value: string) => setValues({ ...values, [name]: value })
  const save = async () => {
    await onSubmit(values)
    onClose()
  }
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="form" onSubmit={ownSubmit(() => isFilled && !isWorking && work(save))}>
        {shown.map(([name, field], index) => (
          <FormField
            key={name}
            {...field}
            isFirst={index === 0}
            value={values[name]}
            onChange={(value) => change(name, value)}
          />
        ))}
        {children?.(values)}
        <FormFooter {...{ failure, onClose }} canSubmit={isFilled && !isWorking}>
          {submit}
        </FormFooter>
      </form>
    </Dialog>
  )
}

interface FieldProps extends Field {
  /** It has the focus when the dialog opens. */
  isFirst: boolean
  value: string
  onChange(value: string): void
}

function FormField({ label, choices, isMany, example, isFirst, value, onChange }: FieldProps) {
  const id = useId()
  if (choices !== undefined && isMany) {
    const chosen = value.split(',').filter(Boolean)
    return (
      <fieldset class="quality-scorers">
        <legend>{label}</legend>
        {Object.entries(choices).map(([choice, text]) => (
          <label key={choice}>
            <input
              type="checkbox"
              checked={chosen.includes(choice)}
              onChange={({ currentTarget }) =>
                onChange(
                  (currentTarget.checked
                    ? [...chosen, choice]
                    : chosen.filter((other) => other !== choice)
                  ).join(','),
                )
              }
            />
            {text}
          </label>
        ))}
      </fieldset>
    )
  }
  return (
    <>
      <label for={id}>{label}</label>
      {choices === undefined ? (
        <input
          id={id}
          autofocus={isFirst}
          dir="auto"
          spellcheck={false}
          placeholder={example}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      ) : (
        <Select {...{ id, choices, value, onChange }} autofocus={isFirst} />
      )}
    </>
  )
}

/** The names in a list with commas or spaces. */
export const listIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

/** What is no number is refused here, in the words of the server. */
export function numberIn(text: string, label: string): number {
  const number = Number(text.trim() || Number.NaN)
  if (Number.isNaN(number)) throw new Error(`${label}: expected a number, not ${JSON.stringify(text)}.`)
  return number
}
