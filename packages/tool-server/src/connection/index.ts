export type { ClientSettings, MessageOrigin, ServerDescription } from "./client-settings.js";
export type { CallOptions, Connection, RelayedCall } from "./connection.js";
export { type ConnectionOptions, createConnection } from "./create-connection.js";
export type { ChangedList } from "./list-changes.js";
export { redactValue } from "./redact-failure.js";
export type { RelayRequest, WireObject } from "./relayed-calls.js";
