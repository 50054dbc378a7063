import { FormDialog, listIn, numberIn } from '../../parts/form-dialog.tsx'
import { setSettings, type User } from '../../server/people.ts'
import { currentUser } from '../../server/session.ts'
import { countText } from '../../value/units.ts'

const labels = {
  requests_per_minute: 'Requests a minute',
  tokens_per_minute: 'Tokens a minute',
  requests_at_once: 'Requests at once',
}

/** What is empty is not limited. */
export function LimitsForm(props: { user: User; onSaved(): void; onClose(): void }) {
  const { name, settings } = props.user
  const unlimited = { example: 'no limit', mayBeEmpty: true }
  return (
    <FormDialog
      title={`Limits of ${name}`}
      fields={() => ({
        requests_per_minute: { label: labels.requests_per_minute, ...unlimited },
        tokens_per_minute: { label: labels.tokens_per_minute, ...unlimited },
        requests_at_once: { label: labels.requests_at_once, ...unlimited },
        models: { label: 'Models, with commas', example: 'all', mayBeEmpty: true },
        default_project: {
          label: 'Project of answers whose request names none',
          example: 'entity/project',
          mayBeEmpty: true,
        },
        disabled: {
          label: 'Its keys and sessions',
          choices: { '': 'work', yes: 'are refused' },
          mayBeEmpty: true,
          isHidden: name === currentUser.value?.user,
        },
      })}
      first={{
        requests_per_minute: textOf(settings.requests_per_minute),
        tokens_per_minute: textOf(settings.tokens_per_minute),
        requests_at_once: textOf(settings.requests_at_once),
        models: settings.models?.join(', ') ?? '',
        default_project: settings.default_project ?? '',
        disabled: settings.disabled ? 'yes' : '',
      }}
      submit="Save limits"
      onSubmit={async (values) => {
        const models = listIn(values.models)
        const wanted = {
          requests_per_minute: limitIn(values.requests_per_minute, labels.requests_per_minute),
          tokens_per_minute: limitIn(values.tokens_per_minute, labels.tokens_per_minute),
          requests_at_once: limitIn(values.requests_at_once, labels.requests_at_once),
          models: models.length === 0 ? null : models,
          default_project: values.default_project.trim() || null,
          disabled: values.disabled === 'yes' ? true : null,
        }
        // What somebody else has changed meanwhile stays.
        const changed = Object.entries(wanted).filter(
          ([setting, value]) => JSON.stringify(value) !== JSON.stringify(settings[setting as never] ?? null),
        )
        await setSettings(name, Object.fromEntries(changed))
        props.onSaved()
      }}
      onClose={props.onClose}
    />
  )
}

const limitIn = (text: string, label: string) => (text.trim() === '' ? null : numberIn(text, label))
const textOf = (limit: number | undefined) => (limit === undefined ? '' : String(limit))

export function limitsText({ disabled, models, ...settings }: User['settings']) {
  const words = Object.entries(settings).map(
    ([name, value]) =>
      `${name.replaceAll('_', ' ')}: ${typeof value === 'number' ? countText(value) : value}`,
  )
  if (models !== undefined) words.push(models.length === 1 ? `model ${models[0]}` : `${models.length} models`)
  if (disabled) words.unshift('disabled')
  return words.length === 0 ? <span class="muted">none</span> : words.join(', ')
}
