/** Conversations, as clients, servers and instrumentations of models record them. */

export { outputMessages } from './answers.ts'
export { type ChatMessage, chatMessagesOf } from './chat-messages.ts'
export { type Conversation, conversationOf, paired, type Transcript, transcriptOf } from './conversation.ts'
export { answerLine, messageLine, requestLine, textOfMessage, valueLine } from './lines.ts'
export { pictureUrl } from './media.ts'
export type { Block, Message, ToolCall, ToolResult } from './message.ts'
export { isMessageList, messagesIn } from './messages.ts'
export { inputMessages } from './requests.ts'
export { type Before, nothingBefore, type TurnCall, turnOf } from './turn.ts'
