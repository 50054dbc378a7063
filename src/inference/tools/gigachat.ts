import type { CallFormat } from './call-format.ts'

/**
 * GigaChat 3 says its one call in a message of another role. A prompt ends behind the header of the assistant's message, so a call
 * begins with the end of that one.
 */
export const gigachat: CallFormat = {
  open: ['<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "'],
  mid: ['", "arguments": '],
  arguments: { kind: 'json', isQuoted: false },
  close: ['}'],
  ids: 'any',
  isAnchored: false,
}
