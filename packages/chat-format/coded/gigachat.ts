import type { CallFormat } from '../call-format.ts'
import type { CodedForm } from './coded-form.ts'

/**
 * GigaChat 3 writes its single call in a message of another role. A prompt ends after the header of the assistant's
 * message, so a call begins with the end of that message.
 */
const gigachatCall: CallFormat = {
  open: ['<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "'],
  mid: ['", "arguments": '],
  arguments: { kind: 'json', isQuoted: false },
  close: ['}'],
  ids: 'any',
  isAnchored: false,
}

export const gigachat: CodedForm = {
  marks: [],
  isWritten: (call) => call.includes('function call<|role_sep|>'),
  calls: gigachatCall,
}
