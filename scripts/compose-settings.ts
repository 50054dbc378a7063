import { readFileSync } from 'node:fs'
import { settings, variableOf } from '../src/config.ts'

/** Settings of where the container itself listens and writes. */
const ofTheContainer = ['host', 'port', 'data']

const line = /^ {6}((?:HEDDLE|HF)_\w+):(.*)$/

/** A compose file that passes every setting on; its own settings are left as they are. */
export function composeFile(name: string): string {
  const lines = readFileSync(new URL(`../docker/${name}`, import.meta.url), 'utf8').split('\n')
  const from = lines.findIndex((one) => line.test(one))
  const length = lines.slice(from).findIndex((one) => !line.test(one))
  const known = new Map(lines.slice(from, from + length).map((one) => [line.exec(one)?.[1], one]))
  const wanted = Object.keys(settings)
    .filter((setting) => !ofTheContainer.includes(setting))
    .map((setting) => (setting.startsWith('hf_') ? setting.toUpperCase() : variableOf(setting)))
  const passed = wanted.map((variable) => known.get(variable) ?? `      ${variable}:`)
  return lines.toSpliced(from, length, ...passed).join('\n')
}
