/** Conversations, as clients, servers and instrumentations of models record them. */

export { outputMessages } from './answers.ts'
export { type Conversation, conversationOf, paired } from './conversation.ts'
export { answerLine, messageLine, requestLine, textOfMessage, valueLine } from './lines.ts'
export type { Message, Part, ToolCall, ToolResult } from './message.ts'
export { isMessageList, messagesIn } from './messages.ts'
export { inputMessages } from './requests.ts'
export { type Transcript, transcriptOf } from './transcript.ts'
