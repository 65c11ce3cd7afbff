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
  ChildWire,
  ConnectionFacts,
  ConnectivityState,
  SocketWire,
  TransportFacts,
  TransportKind,
  WireFacts,
} from "./facts.js";
