import type { CallFormat } from './call-format.ts'

/**
 * GigaChat 3 writes its single call in a message of another role. A prompt ends after the header of the assistant's
 * message, so a call begins with the end of that message.
 */
export const gigachat: CallFormat = {
  open: ['<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "'],
  mid: ['", "arguments": '],
  arguments: { kind: 'json', isQuoted: false },
  close: ['}'],
  ids: 'any',
  isAnchored: false,
}
