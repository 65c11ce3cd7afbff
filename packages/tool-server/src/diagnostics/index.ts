export {
  channelPrefix,
  channels,
  type Ending,
  type StateChange,
  type StoryEvent,
  type ToolServerChannelName,
  type ToolServerMessages,
} from "./channels.js";
export type {
  CredentialEnding,
  CredentialOperation,
  CredentialOperationCause,
  CredentialOperationKind,
  CredentialOutcome,
} from "./credential-operation.js";
export type {
  ChildWire,
  ConnectionFacts,
  ConnectivityState,
  SocketWire,
  TransportFacts,
  TransportKind,
  WireFacts,
} from "./facts.js";
export type { Follow, Settle } from "./follow.js";
