export type { ServerDescription } from "./client-session.js";
export type { ClientSettings, MessageOrigin } from "./client-settings.js";
export type { CallOptions, Connection } from "./connection.js";
export { type ConnectionOptions, createConnection } from "./create-connection.js";
export type { ChangedList } from "./list-changes.js";
