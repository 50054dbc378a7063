/**
 * The attributes that name the conversation of a span. The first one present counts: Weave's own, OpenTelemetry's, and then
 * those of instrumentations.
 */
export const threadNames = [
  'wandb.thread_id',
  'gen_ai.conversation.id',
  'session.id',
  'langfuse.session.id',
  'langfuse.trace.metadata.langfuse_session_id',
  'langfuse.observation.metadata.langfuse_session_id',
  'ai.telemetry.metadata.sessionId',
  'ai.settings.context.sessionId',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
  'langsmith.metadata.conversation_id',
  'gcp.vertex.agent.session_id',
  'conversation.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.chat_id',
  'traceloop.association.properties.thread_id',
  'mlflow.trace.session',
] as const
