/** Tools as requests offer them, and calls as the model of the tests writes them. */

export const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer', minimum: 1, maximum: 7 },
      },
      required: ['city'],
      additionalProperties: false,
    },
  },
}

export const clock = { type: 'function', function: { name: 'now' } }

export function callText(name: string, given: unknown): string {
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  return `<tool_call>\n{"name": "${name}", "arguments": ${text}}\n</tool_call>`
}
