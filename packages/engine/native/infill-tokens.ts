import type { InfillTokens } from '../backend.ts'

type TokenName = 'prefix' | 'suffix' | 'middle' | 'pad' | 'project' | 'file' | 'end'

/** The ids in a file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md); the second names are older. */
const keys: Record<TokenName, readonly string[]> = {
  prefix: ['fim_pre_token_id', 'prefix_token_id'],
  suffix: ['fim_suf_token_id', 'suffix_token_id'],
  middle: ['fim_mid_token_id', 'middle_token_id'],
  pad: ['fim_pad_token_id'],
  project: ['fim_rep_token_id'],
  file: ['fim_sep_token_id'],
  end: ['eot_token_id'],
}

/** Files often name no ids: these are the names of the tokens of Qwen, StarCoder, Granite, DeepSeek, GLM and CodeLlama. */
const families: readonly Partial<Record<TokenName, string>>[] = [
  {
    ...{ prefix: '<|fim_prefix|>', suffix: '<|fim_suffix|>', middle: '<|fim_middle|>', pad: '<|fim_pad|>' },
    ...{ project: '<|repo_name|>', file: '<|file_sep|>', end: '<|endoftext|>' },
  },
  {
    ...{ prefix: '<fim_prefix>', suffix: '<fim_suffix>', middle: '<fim_middle>', pad: '<fim_pad>' },
    ...{ project: '<repo_name>', file: '<file_sep>', end: '<|endoftext|>' },
  },
  { prefix: '<fim-prefix>', suffix: '<fim-suffix>', middle: '<fim-middle>', pad: '<fim-pad>' },
  { prefix: '<｜fim▁begin｜>', suffix: '<｜fim▁hole｜>', middle: '<｜fim▁end｜>' },
  { prefix: '<|code_prefix|>', suffix: '<|code_suffix|>', middle: '<|code_middle|>' },
  { prefix: '▁<PRE>', suffix: '▁<SUF>', middle: '▁<MID>', end: '▁<EOT>' },
]

/** The tokens around a gap: by their ids in the file, or by names that are tokens of the vocabulary. */
export function infillOf(
  metadata: (key: string) => string | undefined,
  tokenize: (name: string) => ArrayLike<number>,
): InfillTokens | undefined {
  const byKey = (name: TokenName) => {
    const [id] = keys[name].flatMap((key) => metadata(`tokenizer.ggml.${key}`) ?? [])
    return id === undefined ? undefined : Number(id)
  }
  const byText = (text: string | undefined) => {
    const tokens = text === undefined ? [] : tokenize(text)
    return tokens.length === 1 ? tokens[0] : undefined
  }
  return (
    infillBy(byKey) ??
    families.map((family) => infillBy((name) => byText(family[name]))).find((found) => found !== undefined)
  )
}

function infillBy(token: (name: TokenName) => number | undefined): InfillTokens | undefined {
  const [prefix, suffix, middle] = [token('prefix'), token('suffix'), token('middle')]
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined
  const [file, project] = [token('file'), token('project')]
  const ends = [token('pad'), token('end'), file, project].filter((id) => id !== undefined)
  return {
    ...{ prefix, suffix, middle, ends },
    ...(file !== undefined && { file }),
    ...(project !== undefined && { project }),
  }
}
