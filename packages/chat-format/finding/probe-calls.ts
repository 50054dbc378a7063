/** A call that a template is asked to render. Templates get the arguments as an object or as its JSON text. */
export interface ProbeCall {
  id: string
  name: string
  arguments: object | string
}

export const probeNames = ['qzfA', 'qzfB', 'qzfC'] as const
/** Letters only: digits might be taken for a counter. */
const ids = ['qzidAAAAa', 'qzidBBBBb', 'qzidCCCCc']

/** One call for each of these arguments. */
export function probeCalls(inputs: readonly object[], isText = false): ProbeCall[] {
  return inputs.map((value, index) => ({
    id: ids[index] as string,
    name: probeNames[index] as string,
    arguments: isText ? JSON.stringify(value) : value,
  }))
}
