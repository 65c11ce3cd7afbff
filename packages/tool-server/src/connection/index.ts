export type { ClientSettings, MessageOrigin, ServerDescription } from "./client-settings.js";
export type { CallOptions, Connection, ForwardedRequest } from "./connection.js";
export { type ConnectionOptions, createConnection } from "./create-connection.js";
export type { ChangedList } from "./list-changes.js";
export { redactValue } from "./redact-failure.js";
