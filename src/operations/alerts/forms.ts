import type { EventType, Format } from '../../domain/alerts.ts'

/** Events as receivers expect them. The standard form is what the outbox has, byte for byte. */

interface Sent {
  type: EventType
  /** JSON, as in the outbox. */
  body: string
}

interface Told {
  type: EventType
  timestamp: string
  data: {
    project_id: string
    rule?: { id: string; name: string; severity: string }
    [name: string]: unknown
  }
}

const pagerDutySources = 'heddle'

/** The body of a message. `id` is that of the event. */
export function formOf(format: Format, id: string, { body }: Sent, routingKey: string | undefined): string {
  if (format === 'standard') return body
  const told = JSON.parse(body) as Told
  const title = titleOf(told)
  const facts = factsOf(told)
  switch (format) {
    case 'slack':
      return JSON.stringify(slack(title, facts))
    case 'teams':
      return JSON.stringify(teams(title, facts))
    case 'pagerduty':
      return JSON.stringify(pagerDuty(id, told, title, routingKey))
  }
}

function titleOf({ type, data }: Told): string {
  const { rule, project_id } = data
  switch (type) {
    case 'alert.fired':
      return `${rule?.name} (${rule?.severity}) in ${project_id}`
    case 'alert.resolved':
      return `Resolved: ${rule?.name} in ${project_id}`
    case 'endpoint.disabled':
      return `An alert endpoint of ${project_id} was switched off`
    case 'evaluation_run.finished':
      return `An evaluation run of ${project_id} has finished`
    case 'object.alias_changed':
      return `An alias of ${project_id} names another version`
    case 'import.finished':
      return `An import into ${project_id} has finished`
    case 'test':
      return `A test from ${project_id}`
  }
}

type Facts = [name: string, value: string][]

function factsOf({ data, timestamp }: Told): Facts {
  const { project_id: _project, rule: _rule, ...rest } = data
  const facts = Object.entries(rest).flatMap(([name, value]): Facts => {
    if (value === null || value === 0) return []
    return [[name, typeof value === 'string' ? value : JSON.stringify(value)]]
  })
  return [['time', timestamp], ...facts]
}

/** https://docs.slack.dev/messaging/formatting-message-text: only these three could be more than text. */
const slackText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const cut = (text: string, max: number) => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

function slack(title: string, facts: Facts) {
  const lines = facts.map(([name, value]) => slackText(`${name}: ${cut(value, 400)}`)).join('\n')
  return {
    text: slackText(cut(title, 1_000)),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cut(slackText(cut(title, 100)), 150) } },
      // Cut by whole lines of facts, or a reference such as &lt; could be torn.
      { type: 'section', text: { type: 'mrkdwn', text: wholeLines(lines, 3_000) } },
    ],
  }
}

function wholeLines(text: string, max: number): string {
  if (text.length <= max) return text
  return text.slice(0, text.lastIndexOf('\n', max - 2)).concat('\n…')
}

/** Cards read a little Markdown; no text of a call becomes a link. */
const cardText = (text: string) => text.replace(/[[\]()*_`#]/g, '\\$&')

function teams(title: string, facts: Facts) {
  const card = {
    type: 'AdaptiveCard',
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    version: '1.4',
    body: [
      {
        type: 'TextBlock',
        size: 'medium',
        weight: 'bolder',
        text: cardText(cut(title, 1_000)),
        wrap: true,
      },
      {
        type: 'FactSet',
        facts: facts.map(([name, value]) => ({ title: name, value: cardText(cut(value, 400)) })),
      },
    ],
  }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content: card }] }
}

/** A window has one incident from its alert to its end; every other event is an incident of its own. */
function pagerDuty(id: string, { type, timestamp, data }: Told, title: string, routingKey = '') {
  const { rule, window } = data
  return {
    routing_key: routingKey,
    event_action: type === 'alert.resolved' ? 'resolve' : 'trigger',
    dedup_key: rule !== undefined && window !== undefined ? `heddle ${rule.id}` : `heddle ${id}`,
    payload: {
      summary: cut(title, 1_024),
      source: pagerDutySources,
      severity: rule?.severity ?? 'info',
      timestamp,
      component: data.project_id,
      class: type,
      custom_details: data,
    },
  }
}
